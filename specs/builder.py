"""Builds a `Spec` from tables, by meaning. Every error names file, line and clause."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from acl_cts.specs import expressions as ex
from acl_cts.specs.faults import SpecError
from acl_cts.specs.interface import INTEGERS, CallbackType, Interface, Kind, Locates, Param, Signature
from acl_cts.specs.judgement import Strength
from acl_cts.specs.located import Located, plain
from acl_cts.specs.model import (
    Clause,
    DocumentDefect,
    Family,
    Floor,
    Function,
    HandleKind,
    Limit,
    RegionKind,
    Source,
    Spec,
    Takes,
)
from acl_cts.specs.program import (
    MAX_REPEAT,
    Call,
    Fill,
    Int,
    Program,
    Ramp,
    Repeat,
    Room,
    Statement,
    Value,
)
from acl_cts.specs.program_rules import check_name
from acl_cts.specs.program_text import ProgramError, parse_program
from acl_cts.specs.recipe import Recipe
from acl_cts.specs.suiting import program_problem
from acl_cts.specs.table import Table

CALLER_MEMORY = 2**20
"""Bytes of caller memory that a probe may give to one parameter."""


class Builder:
    """Builds the Spec in the order in which names become known: types, limits, state, functions, clauses."""

    def __init__(self, common: Table, tables: list[Table]) -> None:
        self.common = common
        self.tables = tables
        self.clauses: dict[str, Clause] = {}
        self.kind_fields: dict[str, dict[str, str]] = {}
        self.collections: dict[str, tuple[str, str, Mapping[str, str]]] = {}
        self.limits: dict[str, Limit] = {}
        self.ctypes: dict[str, str] = {}
        self.callbacks: dict[str, CallbackType] = {}

    def spec(self) -> Spec:
        """The whole. Raises SpecError."""
        for table in self.tables:
            for key in ("family", "status", "title", "functions"):
                if key not in table.data:
                    raise table.error(1, f"a family's table needs {key!r}")
        for key in ("ctype", "codes", "classes", "resources"):
            if key not in self.common.data:
                raise self.common.error(1, f"the table of codes needs {key!r}")
        self._check_families()
        for table in self.tables:
            self._types(table)
        for table in self.tables:
            self._limits(table)
        functions: dict[str, Function] = {}
        for table in self.tables:
            for name, data in table.data["functions"].items():
                if name in functions:
                    raise table.error(table.data["functions"].lines[name], f"function {name} is described twice")
                functions[name] = self._function(table, name, data)
        self._common_clauses()
        for table in self.tables:
            self._probes(table, functions)
        kinds = {name: kind for table in self.tables for name, kind in self._kinds(table).items()}
        spec = self._assemble(functions, kinds)
        _check_references(spec, self.tables)
        return spec

    def _check_families(self) -> None:
        """Families, limits, collections and callbacks of all tables share a name space each."""
        seen: dict[tuple[str, str], Table] = {}
        for table in self.tables:
            data = table.data
            names = [("family", data["family"], data.lines["family"])]
            for key in ("limits", "state", "callbacks"):
                named = data.get(key, {})
                names += [(key, name, named.lines[name]) for name in named]
            for key, name, line in names:
                other = seen.setdefault((key, name), table)
                if other is not table:
                    raise table.error(line, f"{key}: the name {name!r} is taken by {other.path.name}")

    # -- types, limits, state

    def _types(self, table: Table) -> None:
        for name, data in table.data.get("callbacks", {}).items():
            self.callbacks[name] = CallbackType(name, data["returns"], tuple((c, p) for c, p in data["params"]))
        for name, data in table.data.get("handles", {}).items():
            if name in self.kind_fields or name in ex.FUNCTIONS:
                raise table.error(data.line, f"the name {name!r} is taken")
            self.kind_fields[name] = dict(data["fields"])
            if "holds" in data and data["holds"] not in data["fields"]:
                raise table.error(data.lines["holds"], f"{name}: holds names no field: {data['holds']!r}")
            if "ctype" in data:
                other = self.ctypes.setdefault(data["ctype"], name)
                if other != name:
                    raise table.error(data.line, f"{name}: {data['ctype']} is the type of {other} already")
        for name, data in table.data.get("state", {}).items():
            self.kind_fields[data["record"]] = dict(data["fields"])
            self.collections[name] = (data["key"], data["record"], dict(data["fields"]))
        for name, data in (*table.data.get("handles", {}).items(), *table.data.get("state", {}).items()):
            for label, text in data["fields"].items():
                self._field_type(table, data["fields"].lines[label], f"{name}.{label}", text)

    def _field_type(self, table: Table, line: int, where: str, text: str) -> str:
        words = text.split()
        plain = {"int": ex.INT, "bool": ex.BOOL, "pointer": ex.POINTER, "bytes": ex.BYTES}
        if len(words) == 1:
            if text in plain:
                return plain[text]
            if any(text in t.data.get("handles", {}) for t in self.tables):
                return "obj:" + text
        elif len(words) == 2 and words[1] in ("set", "list") and (words[1] == "list" or words[0] in ("int", "pointer")):
            return f"{words[1]}:{words[0]}"
        raise table.error(line, f"{where}: unknown type {text!r}")

    def _typed_kinds(self) -> dict[str, dict[str, str]]:
        return {
            kind: {name: self._field_type(self.tables[0], 1, name, text) for name, text in fields.items()}
            for kind, fields in self.kind_fields.items()
        }

    def _limits(self, table: Table) -> None:
        for name, data in table.data.get("limits", {}).items():
            readings = data.get("readings") or ({"value": data["value"]} if "value" in data else {})
            source = self._source(table, data, "limits")
            self.limits[name] = Limit(
                name,
                table.data["family"],
                dict(readings),
                data["unit"],
                source,
                data.get("text", ""),
                data.get("relative", ""),
            )

    def _limit_values(self) -> dict[str, int]:
        values: dict[str, int] = {}
        for name, limit in self.limits.items():
            if len(limit.readings) == 1:
                values[name] = limit.max
            elif limit.readings:
                values[name + ".max"], values[name + ".min"] = limit.max, limit.min
        return values

    def _source(self, table: Table, data: Located, function: str, document: str = "") -> Source:
        name = data.get("document") or document or table.data["document"]
        if name not in table.data["documents"]:
            raise table.error(data.line, f"unknown document {name!r}", data.get("id", ""))
        section = data.get("section", "")
        elsewhere = "," in section  # names its function itself
        if function in table.data.get("functions", ()) and not section.startswith(function) and not elsewhere:
            section = f"{function}, {section}" if section else function
        return Source(name, section or function, table.data["documents"][name]["edition"])

    # -- probes of limits

    def _probes(self, table: Table, functions: Mapping[str, Function]) -> None:
        for name, data in table.data.get("limits", {}).items():
            recipes = [
                recipe for each in data.get("probes", ()) for recipe in self._recipes(table, name, each, functions)
            ]
            seen: set[tuple[str, str, str]] = set()
            for recipe in recipes:
                key = (recipe.function, recipe.param, recipe.context)
                if key in seen:
                    raise table.error(recipe.line, "nothing tells two probes apart; give a context", f"limit {name}")
                seen.add(key)
            self.limits[name] = replace(self.limits[name], probes=tuple(recipes))

    def _recipes(self, table: Table, limit: str, data: Located, functions: Mapping[str, Function]) -> Iterator[Recipe]:
        """One recipe for every choice of the values in `for`."""
        chosen = data.get("for", {})
        for values in itertools.product(*chosen.values()):
            texts = {key: data.get(key, "") for key in ("program", "context")}
            for word, value in zip(chosen, values, strict=True):
                texts = {key: re.sub(rf"\b{word}\b", str(value), text) for key, text in texts.items()}
            yield self._recipe(table, limit, data, texts, functions)

    def _recipe(
        self,
        table: Table,
        limit: str,
        data: Located,
        texts: Mapping[str, str],
        functions: Mapping[str, Function],
    ) -> Recipe:
        def fail(what: str) -> SpecError:
            return table.error(data.line, f"probe: {what}", f"limit {limit}")

        program, param = self._program(table, data.line, texts["program"]), data.get("vary", "")
        call, most = _varied(program, param, data, functions, fail)
        function = functions[call.function]
        scope = self._scope(function.signature.params, function.creates)
        if "limit" in scope.params:
            raise fail(f"a parameter of {function.name} is called limit, which is the limit's own name here")
        scope = replace(scope, params={**scope.params, "limit": ex.INT})
        text = data.get("allowed") or self.limits[limit].relative or "limit"
        allowed = self._parse(table, ex.parse_expression, text, scope, data.line, f"limit {limit}")
        if allowed.type not in (ex.INT, ex.ANY):
            raise fail(f"{text!r} is no number")
        return Recipe(
            function=call.function,
            param=param,
            context=texts["context"],
            program=program,
            allowed=allowed,
            allowed_text=text,
            most=most,
            built=data.get("built", 0),
            at_least=data.get("direction") == "at-least",
            monotone=data.get("monotone", True),
            line=data.line,
        )

    # -- functions

    def _function(self, table: Table, name: str, data: Located) -> Function:
        params = tuple(self._param(table, name, p) for p in data["params"])
        returns = data.get("returns")
        creates = {p["name"]: p["creates"] for p in data["params"] if "creates" in p}
        if returns:
            creates["ret"] = returns["creates"]
        scope = self._scope(params, creates)
        guarded = functools.partial(self._parse, table)
        aliases = {
            p["name"]: guarded(ex.parse_expression, p["alias"], scope, p.line, name)
            for p in data["params"]
            if "alias" in p
        }
        principal = "return" if returns else next((p for p in (*creates, *aliases)), "")
        located = data.get("locates")
        signature = Signature(
            name,
            Kind.HANDLE if returns else Kind.CODE,
            returns["ctype"] if returns else self.common.data["ctype"],
            params,
            principal,
            Locates(located["handle"], located["base"], located["size"]) if located else None,
            table.data["family"],
            data.get("auxiliary", False),
        )
        clauses = tuple(self._clause(table, name, scope, c, data.get("document", "")) for c in data["clauses"])
        takes = data.get("takes")
        simplest = data["simplest"] if isinstance(data["simplest"], list) else [data["simplest"]]
        line = data.lines["simplest"]
        typical = {p["name"]: self._value(table, p, p["typical"]) for p in data["params"] if "typical" in p}
        setups = {p["name"]: self._program(table, p.line, p["setup"]).body for p in data["params"] if "setup" in p}
        return Function(
            name=name,
            family=table.data["family"],
            summary=data["summary"],
            signature=signature,
            clauses=clauses,
            effect_text=data["effect"],
            effect=guarded(ex.parse_effect, data["effect"], scope, data.lines["effect"], name),
            creates=creates,
            aliases=aliases,
            invokes={p["name"]: p["invoke"] for p in data["params"] if "invoke" in p},
            takes=Takes(takes["objects"], takes.get("bytes", "")) if takes else None,
            simplest=tuple(self._program(table, line, text) for text in simplest),
            typical=typical,
            setups=setups,
            auxiliary=data.get("auxiliary", False),
            tolerant=data.get("tolerant", False),
        )

    def _param(self, table: Table, function: str, data: Located) -> Param:
        ctype, out = data["ctype"], data.get("out", False)
        try:
            check_name(data["name"])
        except ProgramError as error:
            raise table.error(data.line, f"{function}: parameter {error} (programs call it by name)") from None
        if "kind" in data:
            kind = Kind(data["kind"])
        elif ctype in INTEGERS:
            kind = Kind.INTEGER
        elif ctype in self.ctypes:
            kind = Kind.HANDLE
        else:
            raise table.error(data.line, f"{function}.{data['name']}: what is a {ctype}? add `kind`")
        if kind is Kind.CALLBACK and ctype not in self.callbacks:
            raise table.error(data.line, f"{function}.{data['name']}: unknown callback type {ctype}")
        if (kind in (Kind.DATA, Kind.ROOM)) != ("measure" in data):
            raise table.error(data.line, f"{function}.{data['name']}: data and room need `measure`, others have none")
        for key in ("handle", "creates", "of"):
            if key in data and data[key] not in self.kind_fields:
                raise table.error(data.line, f"{function}.{data['name']}: unknown kind of handle {data[key]!r}")
        handle = data.get("handle") or data.get("creates") or data.get("of") or ""
        return Param(
            data["name"],
            ctype,
            kind,
            out,
            INTEGERS.get(ctype, (64, False))[0],
            handle,
            data.get("measure", ""),
            data.get("const", False),
        )

    def _scope(self, params: tuple[Param, ...], creates: Mapping[str, str]) -> ex.Scope:
        def kind_of(param: Param) -> str:
            if param.kind is Kind.HANDLE:
                return "obj:" + param.handle
            return {Kind.INTEGER: ex.INT, Kind.DATA: ex.BYTES, Kind.ROOM: ex.BYTES}.get(param.kind, ex.POINTER)

        inputs = {p.name: ex.ANY if p.out else kind_of(p) for p in params}
        outs = {
            p.name: ex.POINTER if p.kind is Kind.HANDLE else kind_of(p) for p in params if p.out or p.kind is Kind.ROOM
        }
        outs["ret"] = ex.POINTER if "ret" in creates else ex.INT
        collections = {name: (key, record) for name, (key, record, _) in self.collections.items()}
        return ex.Scope(inputs, outs, self._typed_kinds(), collections, self._limit_values(), creates)

    def _parse(
        self, table: Table, parser: Callable[[str, ex.Scope], Any], text: Any, scope: ex.Scope, line: int, clause: str
    ) -> Any:
        try:
            return parser(str(text).lower() if isinstance(text, bool) else text, scope)
        except ex.ExpressionError as error:
            raise table.error(line, str(error), clause) from None

    def _program(self, table: Table, line: int, text: str) -> Program:
        try:
            return parse_program(text)
        except ProgramError as error:
            raise table.error(line, f"program: {error}") from None

    def _programs(self, table: Table) -> tuple[tuple[str, Program], ...]:
        named = table.data.get("programs", {})
        return tuple((name, self._program(table, named.lines[name], text)) for name, text in named.items())

    def _value(self, table: Table, data: Located, text: object) -> Value:
        statement = self._program(table, data.line, f"f(v={text})").body[0]
        if not isinstance(statement, Call):
            raise table.error(data.line, f"{text!r} is not a value")
        return statement.args[0][1]

    # -- clauses

    def _clause(self, table: Table, function: str, scope: ex.Scope, data: Located, document: str) -> Clause:
        name, line = data["id"], data.line
        if name in self.clauses:
            raise table.error(line, f"the id is used twice (also line {self.clauses[name].line})", name)
        tests = [key for key in ("outcome", "ensures", "keeps", "observe", "touch", "balance", "invoke") if key in data]
        if not tests:
            raise table.error(
                line, "nothing to test: one of outcome, ensures, keeps, observe, touch, balance, invoke", name
            )
        if "class" in data and data["class"] not in self.common.data["classes"]:
            raise table.error(line, f"unknown class of codes {data['class']!r}", name)

        def parsed(key: str) -> Any:
            return self._parse(table, ex.parse_guard, data[key], scope, line, name) if key in data else None

        keeps = (self._parse(table, ex.parse_expression, text, scope, line, name) for text in data.get("keeps", ()))
        observe = (
            (label, self._parse(table, ex.parse_guard, text, scope, line, name))
            for label, text in data.get("observe", {}).items()
        )
        clause = Clause(
            id=name,
            family=table.data.get("family", "common"),
            function=function,
            strength=Strength(data["strength"]),
            source=self._source(table, data, function, document),
            text_en=data["en"],
            text_zh=data.get("zh", ""),
            outcome=data.get("outcome", ""),
            when_text=str(data.get("when", "")),
            when=parsed("when"),
            ensures_text=str(data.get("ensures", "")),
            ensures=parsed("ensures"),
            on=data.get("on", "success"),
            keeps=tuple(keeps),
            observe=tuple(observe),
            consistent=data.get("consistent", False),
            refusal=data.get("class", "parameter"),
            unobservable=data.get("unobservable", ""),
            touch=data.get("touch", ""),
            balance=data.get("balance", False),
            invoke=data.get("invoke", False),
            line=line,
        )
        self.clauses[name] = clause
        return clause

    def _common_clauses(self) -> None:
        for data in self.common.data.get("clauses", ()):
            if data["id"] in self.clauses:
                raise self.common.error(data.line, "the id is used twice", data["id"])
            self.clauses[data["id"]] = Clause(
                id=data["id"],
                family="common",
                function="",
                strength=Strength(data["strength"]),
                source=self._source(self.common, data, "every call"),
                text_en=data["en"],
                text_zh=data.get("zh", ""),
                consistent=data.get("consistent", False),
                unobservable=data.get("unobservable", ""),
                line=data.line,
            )

    # -- the whole

    def _kinds(self, table: Table) -> dict[str, HandleKind]:
        kinds: dict[str, HandleKind] = {}
        for name, data in table.data.get("handles", {}).items():
            region = data.get("region")
            states = data.get("states", {})
            kinds[name] = HandleKind(
                name=name,
                family=table.data["family"],
                ctype=data.get("ctype", ""),
                fields=dict(data["fields"]),
                holds=data.get("holds", ""),
                region=RegionKind(**{**region, "special": tuple(region["special"].items())}) if region else None,
                states={key: self._program(table, states.lines[key], text) for key, text in states.items()},
                probe=self._program(table, data.line, data.get("probe", "")).body,
                samples=_chosen(table, data, "samples", 3),
                pairs=_chosen(table, data, "pairs", 2),
                sums=_chosen(table, data, "sums", 1),
                sweeps=_chosen(table, data, "sweeps", 1),
            )
        return kinds

    def _assemble(self, functions: dict[str, Function], kinds: dict[str, HandleKind]) -> Spec:
        all_tables = [self.common, *self.tables]
        digest = hashlib.sha256()
        for table in all_tables:
            digest.update(json.dumps([table.path.name, plain(table.data)], sort_keys=True, ensure_ascii=False).encode())
        families = {
            t.data["family"]: Family(
                t.data["family"],
                t.data["status"],
                t.data["title"]["en"],
                t.data["title"].get("zh", ""),
                tuple(t.data["functions"]),
                t.added,
                self._programs(t),
            )
            for t in self.tables
        }
        defects = tuple(
            DocumentDefect(d["id"], d["en"], d.get("zh", ""), self._source(t, d, "document"))
            for t in self.tables
            for d in t.data.get("defects", ())
        )
        resources = self.common.data["resources"]
        return Spec(
            families=families,
            functions=functions,
            kinds=kinds,
            collections=self.collections,
            clauses=self.clauses,
            limits=self.limits,
            defects=defects,
            interface=Interface(
                {name: f.signature for name, f in functions.items()},
                self.callbacks,
                tuple(line for t in all_tables for line in t.data.get("typedefs", ())),
            ),
            codes={int(code): (data["class"], data["en"]) for code, data in self.common.data["codes"].items()},
            code_classes={n: tuple((a, b) for a, b in ranges) for n, ranges in self.common.data["classes"].items()},
            floor=Floor(resources["allocation"], resources["live_bytes"], resources["live_objects"]),
            digest=digest.hexdigest(),
        )


def _varied(
    program: Program,
    param: str,
    data: Located,
    functions: Mapping[str, Function],
    fail: Callable[[str], SpecError],
) -> tuple[Call, int]:
    """The call that a probe varies or repeats, and where the search gives up. Raises what `fail` gives."""
    problem = program_problem(Interface({name: f.signature for name, f in functions.items()}, {}, ()), program)
    last = program.body[-1] if program.body else None
    if problem:
        raise fail(problem)
    if isinstance(last, Repeat):
        calls = [statement for statement in last.body if isinstance(statement, Call)]
        if param or not calls:
            raise fail("the program ends in a repeat; that needs a call in it and goes without `vary`")
        if not data.get("built", 0) < data.get("most", 0) <= MAX_REPEAT or data.get("direction") == "at-least":
            raise fail(f"a count needs `most`, above `built` and up to {MAX_REPEAT}, and cannot be at-least")
        return calls[-1], data["most"]
    if not isinstance(last, Call) or not param:
        raise fail("the program ends in the call whose parameter `vary` names, or in a repeat")
    given = dict(last.args)
    if "built" in data or not isinstance(given.get(param), Int):
        raise fail(f"`vary` names an integer that {last.function} is given, and goes without `built`")
    signature = functions[last.function].signature
    if signature.param(param).kind is not Kind.INTEGER:
        raise fail(f"`vary` names {param}, which is no integer")
    highest = (1 << signature.param(param).bits) - 1
    most = data.get("most", highest)
    measured = [p for p in signature.params if p.measure == param]
    if any(not isinstance(given.get(p.name), Fill | Ramp | Room) for p in measured):
        raise fail(f"{param} measures caller memory, which must be given as bytes, ramp or room")
    if most > (CALLER_MEMORY if measured else highest):
        raise fail(f"`most` is beyond what {param} can be: at most {CALLER_MEMORY if measured else highest}")
    return last, most


def _chosen(table: Table, kind: Located, key: str, default: int) -> tuple[str, ...]:
    """The states that a kind of handle names under `key`, otherwise its first `default` ones."""
    states = tuple(kind.get("states", ()))
    for name in kind.get(key, ()):
        if name not in states:
            raise table.error(kind.lines[key], f"{key}: no state is called {name!r}; there are {', '.join(states)}")
    return tuple(kind.get(key, ())) or states[:default]


def _check_references(spec: Spec, tables: list[Table]) -> None:
    """What only the whole can show: clauses named elsewhere exist, programs call functions that exist as they are."""

    def fail(family: str, what: str) -> SpecError:
        table = next(t for t in tables if t.data["family"] == family)
        return table.error(1, what)

    for function in spec.functions.values():
        for clause in function.invokes.values():
            if clause not in spec.clauses:
                raise fail(function.family, f"{function.name}: unknown clause {clause!r}")
        for program in (*function.simplest, *map(_as_program, function.setups.values())):
            problem = program_problem(spec.interface, program)
            if problem:
                raise fail(function.family, f"{function.name}: {problem}")
    for family in spec.families.values():
        for name, program in family.programs:
            problem = program_problem(spec.interface, program)
            if problem:
                raise fail(family.name, f"program {name}: {problem}")
    for kind in spec.kinds.values():
        for program in (*kind.states.values(), Program(kind.probe)):
            problem = program_problem(spec.interface, program)
            if problem:
                raise fail(kind.family, f"{kind.name}: {problem}")
        if kind.region:
            special = (clause for _, clause in kind.region.special)
            for clause in (kind.region.usable, kind.region.content, kind.region.fresh, *special):
                if clause not in spec.clauses:
                    raise fail(kind.family, f"{kind.name}: unknown clause {clause!r}")


def _as_program(body: tuple[Statement, ...]) -> Program:
    return Program(body)
