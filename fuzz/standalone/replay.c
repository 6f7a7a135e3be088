/* Runs the target on files, for compilers without an engine: every file named, or standard input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(FILE *from, const char *name)
{
    static uint8_t data[1 << 20];
    if (from == NULL) {
        perror(name);
        return 2;
    }
    size_t size = fread(data, 1, sizeof data, from);
    LLVMFuzzerTestOneInput(data, size);
    return 0;
}

int main(int count, char **names)
{
    int worst = 0;
    if (count < 2)
        return replay(stdin, "standard input");
    for (int k = 1; k < count; k++) {
        FILE *file = fopen(names[k], "rb");
        int code = replay(file, names[k]);
        worst = code > worst ? code : worst;
        if (file != NULL)
            fclose(file);
    }
    printf("%d files: nothing broken\n", count - 1);
    return worst;
}
