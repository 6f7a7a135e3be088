"""Programs that the native executor and the simulator answer alike: every form of statement, both families."""

from __future__ import annotations

from acl_cts.specs.program import Program
from acl_cts.specs.program_text import parse_program

TEXTS = {
    "touch": """
a = aclrtAllocBuf(size=4096)
write a[0:4] = ramp(1, 4)
aclrtGetBufData(buf=a)
write a[0:4096] = ramp(3, 4096)
write a[4090:4096] = bytes("0102030405ff")
read a[4080:4096]
read a[0:4096]
read a[4096:4097]
write a[4090:4100] = bytes(0x11 * 10)
aclrtFreeBuf(buf=a)
""",
    "large-touch": """
a = aclrtAllocBuf(size=200000)
aclrtGetBufData(buf=a)
write a[0:200000] = bytes(0x5A * 200000)
write a[70000:200000] = ramp(9, 130000)
read a[0:200000]
read a[1:4098]
read a[69990:70010]
aclrtFreeBuf(buf=a)
""",
    "private": """
a = aclrtAllocBuf(size=64)
aclrtSetBufUserData(buf=a, dataPtr=ramp(1, 96), size=96, offset=0)
aclrtGetBufUserData(buf=a, size=96, offset=0)
aclrtGetBufUserData(buf=a, dataPtr=room(100), size=10, offset=86)
aclrtGetBufUserData(buf=a, size=1, offset=96)
aclrtSetBufUserData(buf=a, dataPtr=bytes(0xA5 * 4), size=4, offset=18446744073709551612)
aclrtSetBufUserData(buf=a, dataPtr=bytes("00ff00"), size=3, offset=7)
aclrtSetBufUserData(buf=a, size=5000, offset=0)
aclrtGetBufUserData(buf=a, size=5000, offset=0)
aclrtSetBufUserData(buf=a, size=8, offset=20)
aclrtGetBufUserData(buf=a, size=96, offset=0)
aclrtSetBufUserData(buf=a, dataPtr=null, size=4, offset=0)
aclrtFreeBuf(buf=a)
""",
    "refs": """
a = aclrtAllocBuf(size=64)
aclrtGetBufData(buf=a)
repeat i in 50:
    r[i] = aclrtCopyBufRef(buf=a)
    aclrtGetBufData(buf=r[i])
    write r[i][3:4] = bytes(0x77 * 1)
repeat i in 50:
    aclrtFreeBuf(buf=r[i])
read a[0:64]
aclrtFreeBuf(buf=a)
""",
    "chain": """
h = aclrtAllocBuf(size=64)
repeat i in 127:
    m[i] = aclrtAllocBuf(size=64)
    aclrtAppendBufChain(headBuf=h, buf=m[i])
    aclrtGetBufChainNum(headBuf=h)
x = aclrtAllocBuf(size=64)
aclrtAppendBufChain(headBuf=h, buf=x)
on refusal:
    aclrtFreeBuf(buf=x)
on success:
    aclrtGetBufChainNum(headBuf=h)
repeat i in 130:
    g[i] = aclrtGetBufFromChain(headBuf=h, index=i)
aclrtGetBufFromChain(headBuf=h, index=4294967295)
""",
    "nested": """
repeat i in 4:
    repeat j in 3:
        a[j] = aclrtAllocBuf(size=j+64)
        aclrtGetBufDataLen(buf=a[j])
    repeat j in 3:
        aclrtFreeBuf(buf=a[j])
""",
    "unset": """
aclrtFreeBuf(buf=never)
a = aclrtAllocBuf(size=5000000000)
aclrtFreeBuf(buf=a)
on refusal:
    aclrtGetBufChainNum(headBuf=null)
read a[0:4]
b = aclrtAllocBuf(size=16)
read b[0:4]
aclrtGetBufData(buf=b, dataPtr=null)
read b[0:4]
aclrtFreeBuf(buf=b)
""",
    "null": """
aclrtAllocBuf(buf=null, size=16)
aclrtFreeBuf(buf=null)
aclrtGetBufData(buf=null)
aclrtAllocatorRegister(stream=null, allocatorDesc=null)
aclrtAllocatorSetObjToDesc(allocatorDesc=null, allocator=obj(2))
""",
    "again": """
a = aclrtAllocBuf(size=64)
aclrtFreeBuf(buf=a)
until f is a, at most 8: c[k] = aclrtAllocBuf(size=64)
aclrtGetBufData(buf=f)
until q is never, at most 8: d[k] = aclrtAllocBuf(size=64)
e = aclrtAllocBuf(size=64)
until q is e, at most 3: d[k] = aclrtAllocBuf(size=64)
aclrtFreeBuf(buf=q)
until q is e, at most 3: d[k] = aclrtAllocBuf(size=9000000000)
""",
    "registered": """
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(1))
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(1))
aclrtAllocatorSetAllocAdviseFuncToDesc(allocatorDesc=d, func=cb(2))
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(3))
aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc=d, func=cb(4))
s = aclrtCreateStream()
aclrtAllocatorRegister(stream=s, allocatorDesc=d)
g = aclrtAllocatorGetByStream(stream=s)
invoke g.allocFunc(g.allocator, 18446744073709551615)
invoke g.allocAdviseFunc(obj(2), 0, null)
invoke g.freeFunc(g.allocator, g.allocator)
invoke g.getAddrFromBlockFunc(obj(3))
aclrtAllocatorUnregister(stream=s)
n = aclrtAllocatorGetByStream(stream=s)
invoke n.allocFunc(n.allocator, 5)
cleanup:
    aclrtAllocatorDestroyDesc(allocatorDesc=d)
    aclrtDestroyStream(stream=s)
""",
    "no-advise": """
d = aclrtAllocatorCreateDesc()
aclrtAllocatorSetObjToDesc(allocatorDesc=d, allocator=obj(4))
aclrtAllocatorSetAllocFuncToDesc(allocatorDesc=d, func=cb(4))
aclrtAllocatorSetFreeFuncToDesc(allocatorDesc=d, func=cb(4))
aclrtAllocatorSetGetAddrFromBlockFuncToDesc(allocatorDesc=d, func=cb(4))
s = aclrtCreateStream()
aclrtAllocatorRegister(stream=s, allocatorDesc=d)
g = aclrtAllocatorGetByStream(stream=s, freeFunc=null)
g = aclrtAllocatorGetByStream(stream=s)
invoke g.allocAdviseFunc(g.allocator, 5, null)
invoke g.allocFunc(g.allocator, 70000)
invoke g.freeFunc(null, null)
""",
    "cycles": """
repeat i in 1000:
    a = aclrtAllocBuf(size=128)
    b = aclrtCopyBufRef(buf=a)
    aclrtFreeBuf(buf=a)
    aclrtFreeBuf(buf=b)
""",
    "fault": """
a = aclrtAllocBuf(size=64)
fail allocation 1
b = aclrtCopyBufRef(buf=a)
on refusal:
    b = aclrtCopyBufRef(buf=a)
fail allocation 0
aclrtFreeBuf(buf=a)
aclrtFreeBuf(buf=b)
""",
    "exit": """
a = aclrtAllocBuf(size=64)
repeat i in 2:
    exit
""",
    "threads": """
a = aclrtAllocBuf(size=64)
aclrtGetBufData(buf=a)
repeat i in 300:
    parallel:
        branch:
            b = aclrtCopyBufRef(buf=a)
            aclrtGetBufData(buf=b)
            aclrtFreeBuf(buf=b)
        branch:
            aclrtGetBufData(buf=a)
            aclrtSetBufUserData(buf=a, dataPtr=ramp(3, 96), size=96, offset=0)
            aclrtGetBufUserData(buf=a, dataPtr=room(96), size=96, offset=0)
read a[0:64]
""",
    "impossible": "aclrtAllocBuf(size=64, depth=3)\n",
    "caller-memory": "aclrtSetBufUserData(buf=null, dataPtr=bytes(0x00 * 1048577), size=1, offset=0)\n",
}


def programs() -> dict[str, Program]:
    """Each text as a program."""
    return {name: parse_program(text) for name, text in TEXTS.items()}
