"""The state of the model while one program runs: which objects live where, what is registered, what is not known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acl_cts.specs.trace import Pointer, Ptr
from acl_cts.specs.values import UNKNOWN, Obj


@dataclass(frozen=True, slots=True)
class Region:
    """How a kind of object describes memory: names of the fields that hold its base address and its size in bytes."""

    base: str
    size: str


@dataclass(frozen=True, slots=True)
class Parts:
    """What a machine knows of its objects by their addresses and identities: whose handle a value is or was, and how
    many owners a region has."""

    holders: Mapping[tuple[str, Ptr], Obj]
    owners: Mapping[int, int]


@dataclass(slots=True)
class Machine:
    """Objects, keyed collections and their accounts.

    `holds_of`: for a kind of handle, the field that refers to its region. `regions`: kinds that describe memory.
    `live_objects` and `live_bytes` count what is not certainly freed.
    """

    holds_of: dict[str, str]
    regions: dict[str, Region]
    collections: dict[str, dict[Any, Any]] = field(default_factory=dict)
    pending: dict[tuple[str, int], str] = field(default_factory=dict)
    objects: list[Obj] = field(default_factory=list)
    live_objects: int = 0
    live_bytes: int = 0
    _holders: dict[tuple[str, Ptr], Obj] = field(default_factory=dict)
    _owners: dict[int, int] = field(default_factory=dict)
    _owned: dict[int, Obj] = field(default_factory=dict)
    _apart: dict[int, tuple[int, int]] = field(default_factory=dict)
    _placed: int = 0
    _listed: dict[int, tuple[Obj, ...]] = field(default_factory=dict)

    def begin(self, made: Obj, address: Ptr | None) -> None:
        """A handle object comes to life at `address`; its region, if it has one, gets one owner more."""
        if len(self.objects) > 64 + 2 * self.live_objects:  # long cycles: only what may live is ever asked for
            self.objects = [item for item in self.objects if item.alive is not False]
        self.objects.append(made)
        self.live_objects += 1
        region = self.region_of(made)
        if region is not None:
            owners = self._owners.get(id(region), 0)
            self._owners[id(region)] = owners + 1
            if owners == 0:
                self._owned[id(region)] = region
                self._placed += 1
                self.live_bytes += self.size_of(region)
        if address is not None:
            made.earlier = self._holders.get((made.kind, address))
            made.addresses.append(address)
            self._holders[made.kind, address] = made

    def alias(self, item: Obj, address: Ptr) -> None:
        """`item` is also known by `address`, unless that is the handle of another live object."""
        holder = self.holder(item.kind, address)
        if address not in item.addresses and (holder is None or holder.alive is not True):
            item.addresses.append(address)
            self._holders[item.kind, address] = item

    def end(self, item: Any, alive: Any) -> None:
        """`item` is freed (False) or of unknown life from here on; what is freed stays freed."""
        if not isinstance(item, Obj) or item.alive is False or item.alive is alive:
            return
        item.alive = alive
        if alive is False:
            self.live_objects -= 1
            region = self.region_of(item)
            if region is not None:
                self._owners[id(region)] -= 1
                if self._owners[id(region)] == 0:
                    del self._owned[id(region)]
                    self._apart.pop(id(region), None)
                    self.live_bytes -= self.size_of(region)

    def drop(self, collection: Any, key: Any, doubtful: bool) -> None:
        """Remove what a keyed collection holds for `key`, if anything."""
        if key in collection:
            self._listed.clear()
            if doubtful:
                collection[key] = UNKNOWN
            else:
                del collection[key]

    def put(self, name: str, key: Any, value: Any) -> None:
        """Let the keyed collection `name` hold `value` for `key`."""
        self.collections[name][key] = value
        self.pending.pop((name, id(key)), None)
        self._listed.clear()

    def values(self, collection: dict[Any, Any]) -> tuple[Obj, ...]:
        """The known records of a keyed collection; its clauses ask for them again and again."""
        listed = self._listed.get(id(collection))
        if listed is None:
            listed = tuple([value for value in collection.values() if value.__class__ is Obj])
            self._listed[id(collection)] = listed
        return listed

    def holds(self, name: str, key: Any) -> Any:
        """Whether a keyed collection holds something for `key`: three-valued."""
        if key is UNKNOWN:
            return UNKNOWN
        if key not in self.collections[name]:
            return False
        return UNKNOWN if self.collections[name][key] is UNKNOWN else True

    def holder(self, kind: str, address: Ptr) -> Obj | None:
        """The object of `kind` that had `address` last, living or not."""
        return self._holders.get((kind, address))

    def region_of(self, item: Obj) -> Obj | None:
        """The region that a handle refers to."""
        name = self.holds_of.get(item.kind)
        region = item.fields.get(name) if name else None
        return region if isinstance(region, Obj) else None

    def size_of(self, region: Obj) -> int:
        """Bytes of a region, 0 when not known."""
        size = region.fields.get(self.regions[region.kind].size)
        return size if isinstance(size, int) else 0

    def region_alive(self, region: Obj) -> Any:
        """True when a certainly live handle refers to it, False when none can, otherwise UNKNOWN."""
        answer: Any = False
        for item in self.objects:
            if item.alive is not False and self.region_of(item) is region:
                if item.alive is True:
                    return True
                answer = UNKNOWN
        return answer

    def disjoint(self, region: Obj, start: Ptr, pointers: Sequence[Pointer]) -> bool:
        """Whether `region` at `start` shares no byte with another certainly live region. Asked once for every place
        that a region is said to have, and again when other regions have come to life or been placed since."""
        if self._apart.get(id(region)) == (start.id, self._placed):
            return True
        known = self._apart.get(id(region))
        if known is None or known[0] != start.id:
            self._placed += 1
        raw = pointers[start.id].raw
        end = raw + self.size_of(region)
        for other in self._owned.values():
            base = other.fields.get(self.regions[other.kind].base)
            if base.__class__ is not Ptr or other is region:
                continue
            low = pointers[base.id].raw
            if low < end:
                size = self.size_of(other)
                if size and raw < low + size and self.region_alive(other) is True:
                    return False
        self._apart[id(region)] = start.id, self._placed
        return True

    def forget(self) -> None:
        """Let go of all state once nothing more is asked: objects refer to each other in circles, and one by one they
        cost far less to take apart than as garbage."""
        for item in (*self.objects, *self._holders.values()):
            item.fields.clear()
            item.earlier = None
        self.objects.clear()
        self._holders.clear()

    def reach(self, items: Any, name: str) -> tuple[Obj, ...]:
        """All objects joined with `items` over the list field `name`, directly or not."""
        found: list[Obj] = []
        todo = [item for item in items if isinstance(item, Obj)] if isinstance(items, tuple) else []
        seen = {id(item) for item in todo}
        while todo:
            item = todo.pop()
            found.append(item)
            joined = item.fields.get(name)
            for other in joined if isinstance(joined, tuple) else ():
                if isinstance(other, Obj) and id(other) not in seen:
                    seen.add(id(other))
                    todo.append(other)
        return tuple(found)

    @property
    def parts(self) -> Parts:
        """What a copy of this machine must take over."""
        return Parts(self._holders, self._owners)

    def take_over(
        self, holders: dict[tuple[str, Ptr], Obj], owners: Mapping[int, int], twin: Callable[[int], Obj | None]
    ) -> None:
        """Become the machine of copies: `holders` of them, `owners` by the identity of the original regions, whose
        copies `twin` tells."""
        copies = [(region, count) for identity, count in owners.items() if (region := twin(identity)) is not None]
        self._holders = holders
        self._owners = {id(region): count for region, count in copies}
        self._owned = {id(region): region for region, count in copies if count}
        self._apart = {}
        self._listed = {}

    def summary(self) -> tuple[Any, ...] | None:
        """What a count of live objects must depend on; None while something's life is unknown."""
        if any(item.alive is UNKNOWN for item in self.objects):
            return None
        if any(UNKNOWN in c.values() for c in self.collections.values()):
            return None
        return self.certain()

    def orphaned(self) -> bool:
        """Whether a keyed collection holds something for an object that is gone: whether that went with it, nothing
        says."""
        return any(isinstance(key, Obj) and key.alive is not True for keys in self.collections.values() for key in keys)

    def certain(self) -> tuple[Any, ...]:
        """What is certainly live, as a count of live objects may depend on it: how many objects in which shape."""
        counts: dict[Any, int] = {}
        regions: dict[int, Obj] = {}
        for item in self.objects:
            if item.alive is True:
                key = (item.kind, _shape(item))
                counts[key] = counts.get(key, 0) + 1
                region = self.region_of(item)
                if region is not None:
                    regions[id(region)] = region
        for region in regions.values():
            key = (region.kind, _shape(region))
            counts[key] = counts.get(key, 0) + 1
        held = tuple(sorted((name, len(keys), _following(keys)) for name, keys in self.collections.items()))
        return (frozenset(counts.items()), sum(map(self.size_of, regions.values())), held)


def _shape(item: Obj) -> tuple[tuple[str, str], ...]:
    """What of an object's state may cost memory: links, and what was asked for, set or not; no numbers."""
    return tuple((name, _mark(value)) for name, value in item.fields.items())


def _mark(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, tuple):
        return f"{len(value)}{any(member is not None for member in value)}"
    return repr(value) if value is None or value is UNKNOWN else "set"


def _following(keys: dict[Any, Any]) -> int:
    """How many records of a collection refer to an object that is certainly alive."""
    return sum(
        any(isinstance(value, Obj) and value.alive is True for value in record.fields.values())
        for record in keys.values()
        if isinstance(record, Obj)
    )
