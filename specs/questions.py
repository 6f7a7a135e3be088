"""The built-in questions of the expression language; what each means is said in `expressions.FUNCTIONS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from acl_cts.specs.frame import Frame
from acl_cts.specs.trace import Ptr, sentinel
from acl_cts.specs.values import UNKNOWN, UNWRITTEN, NotApplicableError, Obj


def _length(frame: Frame, items: Any) -> Any:
    if items is None:
        raise NotApplicableError
    return items if items is UNKNOWN else len(items)


def _alive(frame: Frame, item: Any) -> Any:
    return item.alive if isinstance(item, Obj) else UNKNOWN


def _fresh(frame: Frame, pointer: Any, kind: str) -> Any:
    if pointer is UNKNOWN:
        return UNKNOWN
    if not isinstance(pointer, Ptr):
        return False
    holder = frame.machine.holder(kind, pointer)
    return holder is None or holder.alive is not True


def _another(frame: Frame, pointer: Any, item: Any) -> Any:
    if not isinstance(item, Obj) or not isinstance(pointer, Ptr):
        return UNKNOWN
    holder = frame.machine.holder(item.kind, pointer)
    return holder is not None and holder is not item and holder.alive is True and pointer not in item.addresses


def _disjoint(frame: Frame, area: Any, pointer: Any) -> Any:
    if not isinstance(area, Obj) or not isinstance(pointer, Ptr):
        return UNKNOWN
    return frame.machine.disjoint(area, pointer, frame.pointers)


def _callable(frame: Frame, pointer: Any) -> Any:
    """Whether it can be called and is none of the user's own callbacks."""
    return isinstance(pointer, Ptr) and frame.pointers[pointer.id].kind == "executable"


def _aligned(frame: Frame, pointer: Any, bytes_: int) -> Any:
    return frame.pointers[pointer.id].raw % bytes_ == 0 if isinstance(pointer, Ptr) else UNKNOWN


def _all_null(frame: Frame) -> bool:
    return all(value is None for value in frame.outs.values())


def _stale(frame: Frame, owner: Any, name: str, shown: Any, offset: int) -> Any:
    """Whether at least 8 bytes in a row that are not known to be otherwise are those of the handle's earlier owner."""
    earlier = owner.earlier.fields[name] if isinstance(owner, Obj) and owner.earlier else None
    if not isinstance(earlier, tuple) or not isinstance(shown, bytes):
        return UNKNOWN
    own, template = owner.fields[name], owner.fields.get("template", ())
    run = 0
    for k, byte in enumerate(shown[: max(0, len(own) - offset)]):
        at = offset + k
        copied = at < len(template) and template[at] == byte
        run = run + 1 if own[at] is None and earlier[at] == byte != 0 and not copied else 0
        if run >= 8:
            return True
    return False


def _telling(group: tuple[Any, ...]) -> bool:
    """Whether eight bytes are known and no plain fill that fresh memory may hold by chance."""
    return None not in group and len(set(group)) > 1


def _groups(own: Any, shown: Any, original: Any) -> list[bool]:
    """For each 8-byte group never set here and known of the original: whether it shows the original's bytes."""
    if not isinstance(own, tuple) or not isinstance(shown, bytes) or not isinstance(original, tuple):
        return []
    starts = range(0, min(len(own), len(shown), len(original)) - 7, 8)
    free = [s for s in starts if all(b is None for b in own[s : s + 8]) and _telling(original[s : s + 8])]
    return [tuple(shown[s : s + 8]) == original[s : s + 8] for s in free]


def _partial(frame: Frame, own: Any, shown: Any, original: Any) -> Any:
    groups = _groups(own, shown, original)
    return any(groups) and not all(groups) if len(groups) > 1 else UNKNOWN


def _copied(frame: Frame, own: Any, shown: Any, original: Any) -> bool:
    groups = _groups(own, shown, original)
    return bool(groups) and all(groups)


def _differs(frame: Frame, own: Any, shown: Any, original: Any) -> bool:
    groups = _groups(own, shown, original)
    return bool(groups) and not any(groups)


def _earlier(frame: Frame, item: Any) -> Any:
    return item.earlier if isinstance(item, Obj) else None


def _values(frame: Frame, collection: Any) -> tuple[Obj, ...]:
    return frame.machine.values(collection)


@cache
def _unknown(count: int) -> tuple[None, ...]:
    """Shared by all that know as little: tens of thousands of handles may live at once."""
    return (None,) * count


QUESTIONS: dict[str, Callable[..., Any]] = {
    "len": _length,
    "alive": _alive,
    "unknown": lambda frame, value: value is UNKNOWN,
    "fresh": _fresh,
    "another": _another,
    "disjoint": _disjoint,
    "all_null": _all_null,
    "callable": _callable,
    "aligned": _aligned,
    "hits": lambda frame: frame.hits,
    "stale": _stale,
    "partial": _partial,
    "copied": _copied,
    "differs": _differs,
    "unset": lambda frame, items: isinstance(items, tuple) and all(item is None for item in items),
    "zero": lambda frame, items: isinstance(items, bytes) and not any(items),
    "lasts": lambda frame, number: frozenset() if number is None else frozenset((number,)),
    "reach": lambda frame, items: frame.machine.reach(items, "links"),
    "values": _values,
    "earlier": _earlier,
    "unknown_bytes": lambda frame, count: _unknown(count),
}


def tidy(frame: Frame, name: str) -> bool:
    """Whether output `name` is untouched or NULL."""
    return frame.outs.get(name, UNWRITTEN) in (UNWRITTEN, None)


def untouched(frame: Frame, name: str, start: Any) -> Any:
    """Whether output `name` is not written from byte `start` on."""
    value = frame.outs.get(name, UNWRITTEN)
    if not isinstance(value, bytes):
        return value is UNWRITTEN
    return value[start:] == sentinel(len(value))[start:]
