/* Runs the target on files, for compilers without an engine: every file named, or standard input. The name of the one
 * that is running is told first, so that it is known which one aborted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the file could be read and run. */
static int replay(FILE *from, const char *name)
{
    static uint8_t data[1 << 20];
    if (from == NULL) {
        perror(name);
        return 0;
    }
    size_t size = fread(data, 1, sizeof data, from);
    if (ferror(from)) { /* as of a folder */
        perror(name);
        return 0;
    }
    fprintf(stderr, "%s\n", name);
    LLVMFuzzerTestOneInput(data, size);
    return 1;
}

int main(int count, char **names)
{
    int done = 0, asked = count - 1;
    if (count < 2) {
        asked = 1;
        done = replay(stdin, "standard input");
    }
    for (int k = 1; k < count; k++) {
        FILE *file = fopen(names[k], "rb");
        done += replay(file, names[k]);
        if (file != NULL)
            fclose(file);
    }
    printf("%d of %d inputs run, nothing broken in these\n", done, asked);
    return done == asked ? 0 : 2;
}
