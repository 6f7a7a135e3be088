"""A small interface written by hand, so that code generators are tested without the tables."""

from __future__ import annotations

from acl_cts.specs.interface import CallbackType, Interface, Kind, Locates, Param, Signature


def _handle(ctype: str, name: str, out: bool = False) -> Param:
    return Param(name, ctype, Kind.HANDLE, out=out, handle=ctype, const=not out and name == "source")


def _size(name: str, out: bool = False, ctype: str = "size_t", bits: int = 64) -> Param:
    return Param(name, ctype, Kind.INTEGER, out=out, bits=bits)


def _function(
    name: str, *params: Param, principal: str = "", locates: Locates | None = None, returns: str = "aclError"
) -> Signature:
    kind = Kind.CODE if returns == "aclError" else Kind.HANDLE
    return Signature(name, kind, returns, params, principal, locates)


_MBUF, _DESC = "aclrtMbuf", "aclrtAllocatorDesc"
_DATA = Param("dataPtr", "const void *", Kind.DATA, measure="size")
_ROOM = Param("dataPtr", "void *", Kind.ROOM, measure="size")
_ALLOC, _FREE, _OBJECT = "aclrtAllocatorAllocFunc", "aclrtAllocatorFreeFunc", "aclrtAllocator"

_FUNCTIONS = (
    _function("aclrtAllocBuf", _handle(_MBUF, "buf", out=True), _size("size"), principal="buf"),
    _function("aclrtFreeBuf", _handle(_MBUF, "buf")),
    _function(
        "aclrtGetBufData",
        _handle(_MBUF, "source"),
        Param("dataPtr", "void *", Kind.POINTER, out=True),
        _size("size", out=True),
        locates=Locates("source", "dataPtr", "size"),
    ),
    _function("aclrtSetBufUserData", _handle(_MBUF, "buf"), _DATA, _size("size"), _size("offset")),
    _function("aclrtGetBufUserData", _handle(_MBUF, "source"), _ROOM, _size("size"), _size("offset")),
    _function("aclrtGetBufChainNum", _handle(_MBUF, "buf"), _size("num", True, "uint32_t", 32)),
    _function(
        "aclrtGetBufFromChain",
        _handle(_MBUF, "headBuf"),
        _size("index", ctype="uint32_t", bits=32),
        _handle(_MBUF, "buf", out=True),
        principal="buf",
    ),
    _function("aclrtAllocatorCreateDesc", principal="return", returns=_DESC),
    _function("aclrtAllocatorDestroyDesc", _handle(_DESC, "desc")),
    _function("aclrtAllocatorSetObjToDesc", _handle(_DESC, "desc"), Param("allocator", _OBJECT, Kind.OBJECT)),
    _function("aclrtAllocatorSetAllocFuncToDesc", _handle(_DESC, "desc"), Param("func", _ALLOC, Kind.CALLBACK)),
    _function("aclrtAllocatorSetFreeFuncToDesc", _handle(_DESC, "desc"), Param("func", _FREE, Kind.CALLBACK)),
    _function(
        "aclrtAllocatorGet",
        _handle(_DESC, "desc"),
        Param("allocator", _OBJECT, Kind.OBJECT, out=True),
        Param("allocFunc", _ALLOC, Kind.CALLBACK, out=True),
        Param("freeFunc", _FREE, Kind.CALLBACK, out=True),
    ),
)

INTERFACE = Interface(
    functions={function.name: function for function in _FUNCTIONS},
    callbacks={
        _ALLOC: CallbackType(_ALLOC, "void *", ((_OBJECT, "allocator"), ("size_t", "size"))),
        _FREE: CallbackType(_FREE, "void", ((_OBJECT, "allocator"), ("aclrtAllocatorBlock", "block"))),
    },
    typedefs=(
        "typedef int aclError;",
        "typedef void *aclrtMbuf;",
        "typedef void *aclrtAllocatorDesc;",
        "typedef void *aclrtAllocator;",
        "typedef void *aclrtAllocatorBlock",
        "typedef void *aclrtStream;",
    ),
)

LIBRARY = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { size_t size; unsigned char user[96]; unsigned char data[8192]; } buffer;
static buffer buffers[8];
static int used[8];
typedef void *(*alloc_function)(void *, size_t);
typedef void (*free_function)(void *, void *);
typedef struct { void *object; alloc_function alloc; free_function release; } description;
static int live;

int aclInit(const char *path) { return path == NULL ? 0 : 1; }
int aclrtSetDevice(int32_t device) { return device; }
int aclFinalize(void) { return 0; }

int aclrtAllocBuf(void **buf, size_t size)
{
    if (size > 8192) return 107000;
    for (int k = 7; k >= 0; k--)
        if (!used[k]) { used[k] = 1; buffers[k].size = size; *buf = &buffers[k]; return 0; }
    return 207001;
}
int aclrtFreeBuf(void *buf) { if (buf == NULL) return 107000; used[(buffer *)buf - buffers] = 0; return 0; }
int aclrtGetBufData(void *buf, void **data, size_t *size)
{
    *data = ((buffer *)buf)->data;
    if (size != NULL) *size = ((buffer *)buf)->size;
    return 0;
}
int aclrtSetBufUserData(void *buf, const void *data, size_t size, size_t offset)
{
    if (offset == 77) ((unsigned char *)data)[0] ^= 1;
    if (size > 96 || offset > 96 - size) return 107000;
    memcpy(((buffer *)buf)->user + offset, data, size);
    return 0;
}
int aclrtGetBufUserData(void *buf, void *data, size_t size, size_t offset)
{
    if (offset == 77) { ((unsigned char *)data)[-3] = 0; return 0; }
    if (offset == 78) { ((unsigned char *)data)[size] = 0; return 0; }
    if (size > 96 || offset > 96 - size) return 107000;
    memcpy(data, ((buffer *)buf)->user + offset, size);
    return 0;
}
int aclrtGetBufChainNum(void *buf, uint32_t *num) { (void)buf; *num = 1; return 0; }
int aclrtGetBufFromChain(void *head, uint32_t index, void **buf)
{
    if (index != 0) return 107000;
    *buf = head;
    return 0;
}
void *aclrtAllocatorCreateDesc(void) { live++; return calloc(1, sizeof(description)); }
int aclrtAllocatorDestroyDesc(void *desc) { live--; free(desc); return 0; }
int aclrtAllocatorSetObjToDesc(void *desc, void *object) { ((description *)desc)->object = object; return 0; }
int aclrtAllocatorSetAllocFuncToDesc(void *desc, alloc_function f) { ((description *)desc)->alloc = f; return 0; }
int aclrtAllocatorSetFreeFuncToDesc(void *desc, free_function f) { ((description *)desc)->release = f; return 0; }
int aclrtAllocatorGet(void *desc, void **object, alloc_function *alloc, free_function *release)
{
    description *d = desc;
    *object = d->object;
    *alloc = d->alloc;
    *release = d->release;
    return 0;
}
void aclctsLiveCount(uint64_t *objects, uint64_t *bytes) { *objects = live; *bytes = live * sizeof(description); }
"""
"""A library with that interface, and some faults: offsets 77 and 78 make it write where it must not."""
