"""A self-contained fuzz target in C, generated from the tables: for engines that know nothing of this package."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acl_cts.conformance.case_cache import cached_cases
from acl_cts.fuzz.numbers import limits_for
from acl_cts.fuzz.standalone_seed import RECORD, encode_seed, turns_of
from acl_cts.reports.files import make_folder, write_bytes, write_text
from acl_cts.specs import expressions as ex
from acl_cts.specs.expression_c import effect_body, guard_body, question_body
from acl_cts.specs.interface import INTEGERS, CallbackType, Kind, Param
from acl_cts.specs.judgement import Strength
from acl_cts.specs.model import Clause, Function, Spec

TEMPLATES = Path(__file__).resolve().parent / "standalone"
COPIED = ("model.h", "engine.h", "replay.c", "build.sh")
CLUSTER = ("Dockerfile", "build.sh", "project.yaml")
"""Files of the ClusterFuzzLite folder."""

_PASSING = {
    Kind.HANDLE: "HANDLE_IN",
    Kind.INTEGER: "INTEGER_IN",
    Kind.DATA: "DATA_IN",
    Kind.CALLBACK: "CALLBACK_IN",
    Kind.OBJECT: "OBJECT_IN",
}
_OUTCOMES = {"error": "MUST_FAIL", "open": "OPEN", "success": "MUST_SUCCEED"}
_AFTER = {"success": "SUCCESS", "refusal": "REFUSAL", "any": "SUCCESS | REFUSAL"}
_WIDTHS = (8, 16, 31, 32, 63)


@dataclass(frozen=True, slots=True)
class Written:
    """What was made: the folder and how many seeds lie in it."""

    folder: Path
    seeds: int


def write_target(spec: Spec, folder: Path, version: str) -> Written:
    """Write the target, its build script, seeds, dictionary and ClusterFuzzLite folder into `folder`. Raises
    ReportError."""
    make_folder(folder)
    write_text(folder / "target.c", render_target(spec, version))
    for name in COPIED:
        _copy(TEMPLATES / name, folder / name)
    cluster = folder / ".clusterfuzzlite"
    make_folder(cluster)
    for name in CLUSTER:
        _copy(TEMPLATES / "clusterfuzzlite" / name, cluster / name)
    write_text(folder / "acl-cts.dict", _dictionary(spec))
    corpus = folder / "corpus"
    make_folder(corpus)
    seeds = dict(_seeds(spec))
    for name, data in seeds.items():
        write_bytes(corpus / name, data)
    return Written(folder, len(seeds))


def render_target(spec: Spec, version: str) -> str:
    """The C of the target."""
    return _render(spec, version, scout=False)


def render_scout(spec: Spec) -> str:
    """The C of a scout: the same calls and checks, on a library that is loaded when it starts."""
    return _render(spec, "", scout=True)


def _render(spec: Spec, version: str, *, scout: bool) -> str:
    names = _Names(spec)
    functions = [_function(names, each) for each in spec.functions.values()]
    from acl_cts.backends.native.c_templates import c_templates  # late: most starts find what was rendered before

    return (
        c_templates(TEMPLATES)
        .get_template("target.c.j2")
        .render(
            version=version,
            scout=scout,
            tables=spec.digest[:12],
            families=list(spec.families),
            kinds=names.kinds,
            fields=names.fields,
            collections=list(spec.collections) or ["none"],
            regions=_regions(spec) or [("-1", "0", "0")],
            holding=_holding(spec) or [("-1", "0")],
            typedefs=_typedefs(spec),
            callbacks=[_callback(each) for each in spec.interface.callbacks.values()],
            functions=functions,
            most=max(len(f.signature.params) for f in spec.functions.values()),
            record=RECORD,
            numbers=_numbers(spec),
            edges=_edges(spec),
            turns=turns_of(spec),
            not_supported=sorted(spec.not_supported_codes),
            floor=spec.floor,
        )
    )


def _regions(spec: Spec) -> list[tuple[str, str, str]]:
    """Kind, place and size of each kind of memory."""
    kinds = {name: kind.region for name, kind in spec.kinds.items()}
    return [(f"KIND_{name}", f"FIELD_{r.base}", f"FIELD_{r.size}") for name, r in kinds.items() if r is not None]


def _holding(spec: Spec) -> list[tuple[str, str]]:
    """Kinds of handle that refer to memory, and in which field."""
    return [(f"KIND_{name}", f"FIELD_{kind.holds}") for name, kind in spec.kinds.items() if kind.holds]


class _Names:
    """Kinds and fields of all families."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        records = {record: fields for _, record, fields in spec.collections.values()}
        kinds: dict[str, Mapping[str, str]] = {name: kind.fields for name, kind in spec.kinds.items()} | records
        self.kinds = list(kinds)
        self.fields = list(dict.fromkeys(["links", *(name for fields in kinds.values() for name in fields)]))
        self.callbacks = list(spec.interface.callbacks)

    def kind(self, name: str) -> str:
        """How C names a kind of object, -1 for none."""
        return f"KIND_{name}" if name in self.kinds else "-1"


def _function(names: _Names, function: Function) -> dict[str, Any]:
    signature = function.signature
    params = {p.name: place for place, p in enumerate(signature.params)}
    outs = {p.name: place for place, p in enumerate(signature.params) if p.out or p.kind is Kind.ROOM}
    guards: list[dict[str, str]] = []

    def guard(tree: ex.Expr | None, write: Any) -> str:
        if tree is None:
            return "NULL"
        name = f"guard_{function.name}_{len(guards)}"
        guards.append({"name": name, "body": write(tree, params, outs)})
        return name

    rules = [
        {"clause": c.id, "outcome": _OUTCOMES[c.outcome], "when": guard(c.when, guard_body)}
        for c in function.clauses
        if c.outcome in _OUTCOMES
    ]
    promises = [
        {
            "clause": c.id,
            "after": _AFTER[c.on],
            "when": guard(c.when, guard_body),
            "ensures": guard(c.ensures, question_body),
        }
        for c in function.clauses
        if _promised(c)
    ]
    return {
        "name": function.name,
        "return_ctype": signature.return_ctype,
        "by_handle": signature.returns is Kind.HANDLE,
        "c_params": [_c_type(p) for p in signature.params],
        "c_args": [
            f"({_c_type(p)}){'(uintptr_t)' if _is_address(p) else ''}v[{k}]" for k, p in enumerate(signature.params)
        ],
        "params": [_param(names, function, p, params) for p in signature.params],
        "guards": guards,
        "rules": rules,
        "promises": promises,
        "effect": effect_body(function.effect, params, outs, frozenset(function.creates))
        + _aliases(function, params, outs),
        "creates": names.kind(function.creates.get("ret", "")),
        "makes": str(bool(function.creates)).lower(),
        "observes": str(not function.effect and not function.creates and not function.takes).lower(),
        "family": -1 if function.signature.auxiliary else list(names.spec.families).index(function.family),
        "takes": "true" if function.takes else "false",
        "asked": params.get(function.takes.size, -1) if function.takes else -1,
        "frees": "true" if _frees(function) else "false",
        **_located(names.spec, function, params),
    }


def checked_clauses(function: Function) -> list[Clause]:
    """The clauses of a function that are checked in C, rules first, in the order in which they stand there."""
    rules = [clause for clause in function.clauses if clause.outcome in _OUTCOMES]
    return rules + [clause for clause in function.clauses if _promised(clause)]


def _promised(clause: Clause) -> bool:
    return clause.ensures is not None and clause.strength is not Strength.ADVISORY


def _aliases(function: Function, params: Mapping[str, int], outs: Mapping[str, int]) -> str:
    """Statements for handles that name what is there already."""
    text = ""
    for name, tree in function.aliases.items():
        body = question_body(tree, params, outs).replace("return ", "const value expected = ")
        text += f"\n    {{\n{body}\n    also_known_as(expected, address_in(call->outs[{outs[name]}]));\n    }}"
    return text


def _frees(function: Function) -> bool:
    """Whether the function gives back its only argument."""
    params = function.signature.params
    acts = [e for e in function.effect if isinstance(e, ex.Act) and e.name == "free"]
    return (
        len(params) == 1
        and params[0].kind is Kind.HANDLE
        and any(isinstance(act.args[0], ex.Name) and act.args[0].name == params[0].name for act in acts)
    )


def _located(spec: Spec, function: Function, params: Mapping[str, int]) -> dict[str, Any]:
    """Where the function puts place and size of a data area."""
    located = function.signature.locates
    if located is None:
        return {"base": -1, "size": -1, "owner": -1, "region": 0, "extent": 0}
    owner = function.signature.param(located.handle)
    held = spec.kinds[owner.handle].holds
    region = next(kind for field, kind in spec.kinds[owner.handle].fields.items() if field == held)
    described = spec.kinds[region].region
    return {
        "base": params[located.base],
        "size": params[located.size],
        "owner": params[located.handle],
        "region": f"FIELD_{held}",
        "extent": f"FIELD_{described.size}" if described else 0,
    }


def _param(names: _Names, function: Function, param: Param, params: Mapping[str, int]) -> dict[str, Any]:
    passing = (
        "ROOM_OUT" if param.kind is Kind.ROOM else "CELL_OUT" if param.out else _PASSING.get(param.kind, "OBJECT_IN")
    )
    integer = param.kind in (Kind.INTEGER, Kind.CODE)
    return {
        "name": param.name,
        "passing": passing,
        "bits": INTEGERS[param.ctype][0] if param.ctype in INTEGERS else param.bits,
        "signed": "true" if INTEGERS.get(param.ctype, (0, False))[1] else "false",
        "address": "false" if integer else "true",
        "handle": names.kind(param.handle) if param.kind is Kind.HANDLE and not param.out else "-1",
        "measure": params.get(param.measure, -1),
        "callback": names.callbacks.index(param.ctype) if param.ctype in names.callbacks and not param.out else -1,
        "creates": names.kind(function.creates.get(param.name, "")),
        "own": _own(function, param) if param.kind is Kind.INTEGER and not param.out else [],
    }


def _is_address(param: Param) -> bool:
    return param.out or param.kind is not Kind.INTEGER


def _c_type(param: Param) -> str:
    if param.kind is Kind.DATA:
        return "const void *"
    if param.kind is Kind.ROOM:
        return "void *"
    return f"{param.ctype} *" if param.out else param.ctype


def _typedefs(spec: Spec) -> list[str]:
    """The types of the tables, and of those callbacks that are not among them."""
    lines = [line if line.rstrip().endswith(";") else f"{line};" for line in spec.interface.typedefs]
    text = "\n".join(lines)
    if "aclError;" not in text:
        lines.insert(0, "typedef int aclError;")
    for c in spec.interface.callbacks.values():
        if f"(*{c.ctype})" not in text:
            lines.append(f"typedef {c.returns} (*{c.ctype})({', '.join(ctype for ctype, _ in c.params) or 'void'});")
    return lines


def _callback(c: CallbackType) -> dict[str, Any]:
    return {
        "name": c.ctype,
        "returns": c.returns,
        "void": c.returns == "void",
        "c_params": [f"{ctype} {name}" for ctype, name in c.params],
        "names": [name for _, name in c.params],
    }


def _numbers(spec: Spec) -> list[int]:
    """Numbers that are worth passing, the documented limits first."""
    fixed: dict[int, None] = {}
    for function in spec.functions.values():
        for param in function.signature.params:
            if param.kind is Kind.INTEGER and not param.out:
                limits = limits_for(function, param)
                fixed.update(dict.fromkeys((limits.typical, *limits.fixed)))
    found = {value + delta: None for value in fixed for delta in (0, 1, -1)}
    found |= {2**64 - value + delta: None for value in fixed for delta in (0, 1, -1)}
    found |= {2**width + delta: None for width in _WIDTHS for delta in (0, 1, -1)}
    found |= {value + 2**32: None for value in fixed}
    found |= dict.fromkeys((2, 8, 16, 64, 2**64 - 1, 2**64 - 64))
    return [value for value in found if 0 <= value < 2**64][:179]


def _own(function: Function, param: Param) -> list[str]:
    """What is worth passing as this very parameter: what is typical, and the limits that its rules compare it with."""
    limits = limits_for(function, param)
    found = dict.fromkeys(value + delta for value in (limits.typical, *limits.fixed) for delta in (0, 1, -1))
    return [f"{value}ull" for value in found if 0 <= value < 2**limits.bits]


def _edges(spec: Spec) -> list[int]:
    """The documented limits, and what is next to them."""
    limits = dict.fromkeys(value for limit in spec.limits.values() for value in limit.readings.values())
    return [value + delta for delta in (0, 1, -1) for value in limits] or [0]


def _dictionary(spec: Spec) -> str:
    """The same numbers as tokens."""
    lines = ["# numbers near the documented limits, as 64-bit little-endian words"]
    for number in _numbers(spec):
        lines.append('"' + "".join(f"\\x{byte:02x}" for byte in number.to_bytes(8, "little")) + '"')
    return "\n".join(lines) + "\n"


def _seeds(spec: Spec) -> Iterator[tuple[str, bytes]]:
    """Programs of the conformance cases that this target can express, by a name that follows from the content."""
    found: dict[str, bytes] = {}
    for case in cached_cases(spec):
        if case.planned or case.solo or case.group == "robustness":
            continue
        data = encode_seed(spec, case.program)
        if data:
            found[hashlib.sha256(data).hexdigest()[:16]] = data
    yield from found.items()


def _copy(source: Path, target: Path) -> None:
    write_bytes(target, source.read_bytes(), executable=os.access(source, os.X_OK))
