"""The standalone C form of a program: one C11 file that loads a library by path and makes the program's calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from acl_cts.specs.interface import CallbackType, Interface, Kind, Param, Signature
from acl_cts.specs.program import (
    FORMAT,
    Call,
    Callback,
    Exit,
    FailAllocation,
    Fill,
    Hooks,
    Index,
    Int,
    Invoke,
    Literal,
    Live,
    Null,
    Object,
    Parallel,
    Program,
    Ramp,
    Read,
    Ref,
    Repeat,
    Room,
    Statement,
    Steady,
    Target,
    UntilSame,
    Value,
    When,
    Write,
    steps,
)
from acl_cts.specs.program_text import format_line
from acl_cts.specs.source_build import PLAIN, Build
from acl_cts.specs.source_c_parts import HEAD, MAIN, PIECES, RESERVED, threaded, told_of
from acl_cts.specs.source_plan import (
    RETURN,
    Names,
    Place,
    Plan,
    arguments,
    attempts,
    is_cell,
    is_memory,
    is_pointer,
    make_plan,
    measure_of,
    measured,
    needed,
    output,
    place,
    references,
    result_base,
    words,
)
from acl_cts.specs.source_watch import (
    COMPARISON_OF_MEMORY,
    Watched,
    as_seen,
    comparison,
    comparison_growth,
    comparison_live,
    comparison_read,
    pointer_of,
    quoted_bytes,
)
from acl_cts.specs.trace import End


def to_c(
    program: Program,
    interface: Interface,
    comment: str = "",
    *,
    opening: Sequence[str] = (),
    closing: Sequence[str] = (),
    watched: Watched | None = None,
    ends: End = End.COMPLETED,
    build: Build = PLAIN,
) -> str:
    """`program` as one C11 file that is built as its head says, for a library that `build` fits; then
    `./repro ./libascendcl.so`.

    `comment` goes to the top. It prints the lines of `opening` before its first call, those of `closing` after its
    last. With `watched` it says whether what the first line of `closing` tells shows, and returns 1 when it does.
    `ends`: how the program ended when the fault was seen; then that it comes to its end says that the fault does not
    show. Raises ProgramError when a call does not fit `interface`.
    """
    plan = make_plan(program, interface)
    return _Writer(plan, watched, ends, build).file(comment, opening, closing)


class _Writer:
    """Writes one file."""

    def __init__(self, plan: Plan, watched: Watched | None, ends: End, build: Build) -> None:
        self.plan = plan
        self.watched = watched
        self.ends = ends
        self.build = build
        self.step = -1
        reserved = {word for defines, _ in PIECES for word in defines.split()} | RESERVED
        for signature in plan.interface.functions.values():
            reserved |= {signature.name, *words(signature.return_ctype)}
        for line in plan.interface.typedefs:
            reserved |= words(line)
        self.names = Names(reserved | set(plan.interface.callbacks), marked=plan.threaded)
        pieces = told_of(PIECES) if ends in _WATCHED_OVER else PIECES
        self.pieces = threaded(pieces) if plan.threaded else pieces
        self.threads: list[str] = []
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.depth = 1
        for where, fields in plan.fields.items():
            for field in fields:
                self.slot_name(where, field)

    # ------------------------------------------------------------------------------------------------ the whole file

    def file(self, comment: str, opening: Sequence[str], closing: Sequence[str]) -> str:
        for statement in self.plan.program.body:
            self.statement(statement)
        if self.plan.program.cleanup:
            self.put("", "/* ---- clean-up ---- */")
            for statement in self.plan.program.cleanup:
                self.statement(statement)
        variables = self.variables()
        if self.plan.threaded:
            steps = "\n".join(self.lines)
            own = "\n".join([*self.functions(), *map(str.strip, variables), *self.callbacks(), *self.threads])
        else:
            steps = "\n".join([*variables, *self.lines])
            own = "\n".join([*self.functions(), *self.callbacks()])
        if self.watched is not None and self.watched.noted:
            own = f"static uintptr_t noted[{len(self.watched.noted)}]; /* addresses to be compared */\n{own}"
        main = MAIN.replace("@LOAD@", "\n".join(self.loads())).replace("@STEPS@", steps)
        result = "0" if self.watched is None else "watched == SHOWN"
        main = main.replace("@RESULT@", result)
        main = main.replace("@FIRST@", _FIRST.get(self.ends, "")).replace("@LAST@", _LAST.get(self.ends, ""))
        pieces = "\n\n".join(needed(self.pieces, own + main))
        types = self.types(own + main + pieces)
        # After the choice of pieces: what is told may hold a word that a piece defines, and use none of it.
        main = main.replace("@OPENING@", _said(opening))
        main = main.replace("@CLOSING@", self.last_words(closing))
        head = HEAD.replace("#include <stdarg.h>", "#include <pthread.h>\n#include <stdarg.h>")
        head = head if self.plan.threaded else HEAD
        brought = ["", self.build.parts] if self.build.parts else []
        return "\n".join([self.comment(comment), head, *types, *brought, "", pieces, "", own, main])

    def comment(self, comment: str) -> str:
        """The comment at the top; nothing in it can end it early."""
        lines = [*in_comment(comment).splitlines(), ""] if comment.strip() else []
        lines += [
            f"Standalone form of a program of acl-cts (program format {FORMAT}).",
            *self.build.told(self.plan.threaded),
            "The path needs a slash: a bare name is looked for where the system keeps its libraries, not here.",
            "Each line says what was called, what it returned and what it wrote; the last names a call that crashed.",
            f"Exit code: {_WATCHED if self.watched is not None and self.ends is End.COMPLETED else _CODES[self.ends]}.",
        ]
        return "/*\n" + "\n".join(f" * {line}".rstrip() for line in lines) + "\n */"

    def last_words(self, told: Sequence[str]) -> str:
        """Statements that print the lines in `told`; the first with what became of the fault."""
        lines = [f"compare with what the suite saw: {line}" for line in told]
        if not told or (self.watched is None and self.ends is End.COMPLETED):
            return _said(lines)
        over = f"not shown here: every call returned; {told[0]}"
        if self.watched is None:
            return _said([over, *lines[1:]])
        ended = self.ends is not End.COMPLETED
        otherwise = over if ended else f"not shown here: {self.watched.otherwise}; {told[0]}"
        branches = (
            ("if (watched == SHOWN)", f"shown here: {told[0]}"),
            ("else if (watched == OTHERWISE)", otherwise),
            ("else", over if ended else lines[0]),
        )
        return "".join(f"    {condition}\n    {_said([line])}" for condition, line in branches) + _said(lines[1:])

    def types(self, text: str) -> list[str]:
        """The typedefs that `text` needs, in order."""
        interface = self.plan.interface
        lines = [line if line.rstrip().endswith(";") else line + ";" for line in interface.typedefs]
        lines += [_callback_typedef(kind) for kind in interface.callbacks.values()]
        return needed([(" ".join(words(line) - _C_WORDS), line) for line in lines], text)

    def functions(self) -> list[str]:
        return [*(f"static {_prototype(s, f'(*{s.name})')};" for s in self.plan.functions.values()), ""]

    def variables(self) -> list[str]:
        """Declarations of the program's names, inside the function that uses them, where they hide nothing it needs."""
        lines = []
        for where, fields in self.plan.fields.items():
            suffix = f"[{self.plan.sizes[where[0]]}]" if where[1] else ""
            lines += [f"    static struct slot {self.slot_name(where, field)}{suffix};" for field in fields]
            if where in self.plan.touched:
                lines.append(f"    static struct area {self.area_name(where)}{suffix};")
        if self.plan.threaded:
            loops = dict.fromkeys(s.loop for s in steps(self.plan.program) if isinstance(s, Repeat))
            lines += [f"static unsigned long {self.loop(loop)};" for loop in loops]
        return [*lines, ""] if lines else []

    def callbacks(self) -> list[str]:
        return [self.callback(kind, number) for (_, number), kind in self.plan.callbacks.items()]

    def callback(self, kind: CallbackType, number: int) -> str:
        params = ", ".join(_declare(ctype, name) for ctype, name in kind.params) or "void"
        shown = [self.show_argument(ctype, name) for ctype, name in kind.params]
        formats = ", ".join(f"{name}={form}" for (_, name), (form, _) in zip(kind.params, shown, strict=True))
        values = "".join(f", {value}" for _, value in shown)
        lines = [f"static {_declare(kind.returns, f'{kind.ctype}_{number}')}({params})", "{"]
        lines.append(f'    reached("{kind.ctype} cb({number})({formats})"{values});')
        pair = self.plan.again() if number == 4 else None
        if pair is not None:
            lines.append(f"    {pair[1].name}({pair[0].name}()); /* calls the library again from inside */")
        if kind.returns != "void":
            size = measure_of(kind)
            extra = f" + ((uintptr_t){size} & 0xFFF0)" if size else ""
            lines.append(f"    return ({kind.returns})({result_base(kind, number):#x}UL{extra});")
        return "\n".join([*lines, "}", ""])

    def show_argument(self, ctype: str, name: str) -> tuple[str, str]:
        if is_pointer(ctype, self.plan.interface):
            return "0x%lx", f"(unsigned long)(uintptr_t){name}"
        return "%lu", f"(unsigned long){name}"

    def loads(self) -> list[str]:
        return [f'    load("{name}", &{name}, sizeof {name});' for name in self.plan.functions]

    # ---------------------------------------------------------------------------------------------------- statements

    def put(self, *lines: str) -> None:
        for line in lines:
            if line:
                self.lines.append("    " * self.depth + line)
            elif self.lines and not self.lines[-1].endswith("{"):
                self.lines.append("")

    def block(self, body: Sequence[Statement]) -> None:
        self.depth += 1
        for statement in body:
            self.statement(statement)
        self.depth -= 1

    def statement(self, statement: Statement) -> None:
        self.step += 1
        self.put("", f"/* {format_line(statement)} */")
        match statement:
            case Call():
                self.call(statement)
            case Repeat():
                self.repeat(statement)
            case UntilSame():
                self.until(statement)
            case Write() | Read():
                self.touch(statement)
            case Invoke():
                self.invoke(statement)
            case FailAllocation(nth=nth):
                self.put(f"fail_allocation({self.text(statement)}, {_number(nth)});")
            case Steady():
                self.steady(statement)
            case Live():
                self.put(f"live({self.text(statement)});")
                if (watched := self.watched_here) is not None:
                    self.watch(comparison_live(watched), watched)
            case Hooks():
                self.say("skipped: ", statement, ": only a backend that calls hooks from inside can do this")
            case When(accepted=accepted, body=body):
                self.put(f"if (last_call == {'ACCEPTED' if accepted else 'REFUSED'}) {{")
                self.block(body)
                self.put("}")
            case Exit():
                over = ["progress->ended = true;"] if self.ends in _WATCHED_OVER else []
                self.put('say("exit\\n");', *over, "exit(0);")
            case Parallel():
                self.parallel(statement)

    def repeat(self, statement: Repeat) -> None:
        name = self.names.name(("loop", statement.loop), statement.loop)
        kind = "" if self.plan.threaded else "unsigned long "
        self.put(f"for ({kind}{name} = 0; {name} < {statement.count}; {name}++) {{")
        self.loops.append(statement.loop)
        self.block(statement.body)
        self.loops.pop()
        self.put("}")

    def steady(self, statement: Steady) -> None:
        turn = self.names.name("turn", "turn")
        watched = self.watched_here
        self.put(
            f"for (unsigned long {turn} = 0; steady({self.text(statement)}, {turn}, {statement.at_least}); {turn}++) {{"
        )
        self.block(statement.body)
        self.put("}")
        if watched is not None and watched.growth is not None:
            self.watch(comparison_growth(watched.growth), watched)

    def parallel(self, statement: Parallel) -> None:
        """A function for each thread; they start together, and what they say comes when all have ended."""
        names = []
        for branch in statement.branches:
            names.append(f"thread_{len(self.threads) + 1}")
            lines, depth = self.lines, self.depth
            self.lines, self.depth = [], 0
            self.block(branch)
            body = "\n".join(self.lines)
            self.threads.append(f"static void {names[-1]}(void)\n{{\n{body}\n}}\n")
            self.lines, self.depth = lines, depth
        functions = ", ".join(names)
        self.put(f"parallel({self.text(statement)}, {len(names)}, (void (*const[])(void)){{{functions}}});")
        if any(isinstance(each, When) for each in steps(self.plan.program)):
            self.put("last_call = NO_CALL;")

    def until(self, statement: UntilSame) -> None:
        like, found = self.slot(statement.like), (statement.found, False)
        array, attempt = attempts(statement).name, self.names.name("attempt", "attempt")
        wanted = self.names.name("wanted", "wanted")
        self.unbind(found, None)
        self.put(f"if (!{like}.set) {{")
        self.depth += 1
        self.say("skipped: ", statement, ": a handle was never given")
        self.depth -= 1
        self.put("} else {")
        self.depth += 1
        self.put(f"const uintptr_t {wanted} = {like}.value; /* given or freed by now */", "bool same = false;")
        self.put(f"for (unsigned long {attempt} = 0; {attempt} < {statement.at_most} && !same; {attempt}++) {{")
        self.loops.append(_ATTEMPT)
        self.depth += 1
        self.step += 1
        call = Call(statement.call.function, statement.call.args, Target(array, Index(0, _ATTEMPT)))
        self.call(call, statement)
        self.depth -= 1
        self.loops.pop()
        self.put("}", "if (!same)")
        self.depth += 1
        self.say("", statement, " -> the handle did not come again")
        self.depth -= 2
        self.put("}")

    def call(self, call: Call, until: UntilSame | None = None) -> None:
        """One call; inside `until`, also the look at what it gave."""
        signature = self.plan.signature(call)
        matched = arguments(call, signature)
        text = self.text(until.call if until else call)
        self.given(references(value for _, value in matched), text, call.target, until is not None)
        self.depth += 1
        for param, value in matched:
            self.prepare(param, value, measured(param, matched) if value is None and is_memory(param) else Null())
        passed = ", ".join(self.argument(param, value) for param, value in matched)
        self.put(f"begin({text});")
        self.put(f"{_declare(signature.return_ctype, 'ret')} = {call.function}({passed});")
        code = signature.returns is Kind.CODE
        self.put("answer_code(ret);" if code else "answer_pointer((uintptr_t)ret);")
        self.note()
        self.as_seen(signature)
        watched = self.watched_here
        memory = watched is not None and watched.memory
        if watched is not None and not memory:
            self.watch(comparison(watched, signature), watched)
        if memory:
            self.put("bool kept = true;")
        for param, value in matched:
            if not isinstance(value, Null):
                self.show(param, value, memory)
        if watched is not None and memory:
            self.watch(COMPARISON_OF_MEMORY, watched)
        self.put("finish();")
        if call.target is not None:
            self.bind(place(call.target), call.target.index, signature, matched)
        self.locate(call, signature, matched)
        if until is not None:
            self.compare(until, signature, matched)
        cells = [f"out_{param.name}" for param, value in matched if is_cell(param) and not isinstance(value, Null)]
        self.put(*(f"unlend({cell}, sizeof *{cell});" for cell in cells))
        if until is not None:
            self.put("if (last_call != ACCEPTED)", "    break;")
        self.depth -= 1
        self.put("}")

    def note(self) -> None:
        """Keep the pointers that are compared later."""
        noted = () if self.watched is None else self.watched.noted
        for number, (step, turns, name) in enumerate(noted):
            if step == self.step:
                self.in_turn(f"noted[{number}] = {pointer_of(name)};", turns)

    def as_seen(self, signature: Signature | None) -> None:
        """Compare with what the suite saw, where that matters for what is watched."""
        seen = () if self.watched is None else self.watched.seen
        for each in seen:
            if each.step == self.step and (text := as_seen(each, signature)):
                self.in_turn(text, each.loops or ())

    @property
    def watched_here(self) -> Watched | None:
        """What is watched, where that is the present statement."""
        return self.watched if self.watched is not None and self.watched.step == self.step else None

    def watch(self, comparing: str, watched: Watched) -> None:
        """Compare what was just told, in the turn that is watched; the rooms of a call are still there."""
        if not watched.decides:
            self.put("as_seen(false); /* not all that matters can be compared */")
        self.in_turn(comparing, watched.loops)

    def in_turn(self, text: str, loops: tuple[int, ...]) -> None:
        """The statement `text` in this turn alone."""
        turns = [f"{self.loop(loop)} == {turn}" for loop, turn in zip(self.loops, loops, strict=False)]
        if turns:
            self.put(f"if ({' && '.join(turns)})")
        self.put(("    " if turns else "") + text)

    def given(self, refs: list[Ref], text: str, target: Target | None, leave: bool) -> None:
        """Open the block that runs only when all of `refs` were given."""
        if not refs:
            self.put("{")
            return
        slots = [self.slot(ref) for ref in refs]
        self.put(f"if ({' || '.join(f'!{slot}.set' for slot in slots)}) {{")
        self.depth += 1
        self.put(f'say("skipped: %s: a handle was never given\\n", {text});')
        if target is not None:
            self.unbind(place(target), target.index)
        if leave:
            self.put("break;")
        self.depth -= 1
        self.put("} else {")

    def compare(self, until: UntilSame, signature: Signature, matched: list[tuple[Param, Value | None]]) -> None:
        attempt = self.element(attempts(until).name, Index(0, _ATTEMPT), None)
        self.put(f"same = {attempt}.set && {attempt}.value == {self.names.name('wanted', 'wanted')};")
        self.put("if (same) {")
        self.depth += 1
        self.bind((until.found, False), None, signature, matched)
        self.depth -= 1
        self.put("}")

    # ------------------------------------------------------------------------------------------- arguments and outputs

    def prepare(self, param: Param, value: Value | None, size: Value) -> None:
        """Declare the caller's memory for `param`."""
        if isinstance(value, Null):
            return
        if is_cell(param):
            cell = f"out_{param.name}"
            self.put(f"{_declare(param.ctype, f'*{cell}')} = lend_cell(sizeof *{cell});")
        elif is_memory(param):
            name = f"mem_{param.name}"
            length = {Fill: "length", Ramp: "length", Literal: "length", Room: "size"}.get(type(value), "")
            count = _number(getattr(value, length)) if length else f"default_room({self.integer(size, 'size_t', 64)})"
            self.put(f"struct memory {name} = lend({count});")
            if param.kind is Kind.DATA:
                self.put(*_fill(f"{name}.at", f"{name}.size", value if _is_data(value) else None), f"keep(&{name});")

    def argument(self, param: Param, value: Value | None) -> str:
        """The expression that is passed for `param`."""
        if isinstance(value, Null):
            return "0" if param.kind is Kind.INTEGER and not param.out else "NULL"
        if is_cell(param):
            return f"out_{param.name}"
        if is_memory(param):
            return f"mem_{param.name}.at"
        if isinstance(value, Callback):
            return f"{param.ctype}_{value.number}"
        assert value is not None  # only cells and memory may be left out
        if param.kind is Kind.INTEGER:
            return self.integer(value, param.ctype, param.bits)
        return self.pointer(value, param.ctype)

    def integer(self, value: Value, ctype: str, bits: int) -> str:
        match value:
            case Int(value=number, loop=None):
                return _number(number) if number < 2 ** min(bits, 31) else f"({ctype}){_number(number)}"
            case Int(value=number, loop=loop):
                return f"({ctype})({self.loop(loop)} + {_number(number)})" if number else f"({ctype}){self.loop(loop)}"
            case Ref():
                return f"({ctype}){self.slot(value)}.value"
            case Object(number=number):
                return f"({ctype})(uintptr_t)object({number})"
        return "0"

    def pointer(self, value: Value, ctype: str) -> str:
        match value:
            case Object(number=number):
                return f"({ctype})(uintptr_t)object({number})"
            case Ref():
                return f"({ctype}){self.slot(value)}.value"
            case Int():
                return f"({ctype}){self.integer(value, 'uintptr_t', 0)}"
        return "NULL"

    def show(self, param: Param, value: Value | None, memory: bool) -> None:
        """Print what the call left in the memory for `param`; with `memory` note whether what was lent is whole."""
        if is_cell(param):
            pointer = "false" if param.kind in (Kind.INTEGER, Kind.CODE) else "true"
            self.put(f'show_cell("{param.name}", out_{param.name}, sizeof *out_{param.name}, {pointer});')
        elif is_memory(param):
            if param.kind is Kind.ROOM:
                self.put(f'show_room("{param.name}", mem_{param.name}.at, mem_{param.name}.size);')
            self.put(f'{"kept &= " if memory else ""}give_back("{param.name}", &mem_{param.name});')

    # ----------------------------------------------------------------------------------------------------- variables

    def slot_name(self, where: Place, field: str | None) -> str:
        return self.names.name((where, field), where[0] if field is None else f"{where[0]}_{field}")

    def area_name(self, where: Place) -> str:
        return self.names.name((where, "area"), f"{where[0]}_area")

    def slot(self, ref: Ref) -> str:
        return self.element(ref.name, ref.index, ref.field)

    def element(self, name: str, index: Index | None, field: str | None) -> str:
        return self.slot_name((name, index is not None), field) + self.index(index)

    def index(self, index: Index | None) -> str:
        if index is None:
            return ""
        if index.loop is None:
            return f"[{index.offset}]"
        return f"[{self.loop(index.loop)} + {index.offset}]" if index.offset else f"[{self.loop(index.loop)}]"

    def loop(self, loop: str | None) -> str:
        if loop == _ATTEMPT:
            return self.names.name("attempt", "attempt")
        return self.names.name(("loop", loop), str(loop))

    def unbind(self, where: Place, index: Index | None) -> None:
        for field in self.plan.fields[where]:
            self.put(f"{self.slot_name(where, field)}{self.index(index)} = unset;")
        if where in self.plan.touched:
            self.put(f"{self.area_name(where)}{self.index(index)}.known = false;")

    def bind(
        self, where: Place, index: Index | None, signature: Signature, matched: list[tuple[Param, Value | None]]
    ) -> None:
        """Give the variable `where` what the call gave; nothing when it was refused."""
        null = {param.name for param, value in matched if isinstance(value, Null)}
        for field in self.plan.fields[where]:
            source = output(signature, field)
            slot = f"{self.slot_name(where, field)}{self.index(index)}"
            if source is None or source[0] in null:
                self.put(f"{slot} = unset;")
                continue
            cell = "&ret, sizeof ret" if source[0] == RETURN else f"out_{source[0]}, sizeof *out_{source[0]}"
            self.put(f"{slot} = bound({cell}, {'true' if source[1] else 'false'});")
        if where in self.plan.touched:
            self.put(f"{self.area_name(where)}{self.index(index)}.known = false;")

    def locate(self, call: Call, signature: Signature, matched: list[tuple[Param, Value | None]]) -> None:
        """Keep where the data area lies, when this call told and the program touches it."""
        told, given = signature.locates, dict(call.args)
        ref = given.get(told.handle) if told else None
        null = {param.name for param, value in matched if isinstance(value, Null)}
        if told is None or not isinstance(ref, Ref) or place(ref) not in self.plan.touched or told.base in null:
            return
        size = "NULL" if told.size in null else f"out_{told.size}"
        self.put(f"locate(&{self.area_name(place(ref))}{self.index(ref.index)}, out_{told.base}, {size});")

    # ------------------------------------------------------------------------------------------- touches and pointers

    def touch(self, statement: Write | Read) -> None:
        ref, text = statement.ref, self.text(statement)
        self.given([ref], text, None, False)
        self.depth += 1
        area = f"&{self.area_name(place(ref))}{self.index(ref.index)}"
        if isinstance(statement, Read):
            self.put(f"read_area({text}, {area}, {_number(statement.offset)}, {_number(statement.length)});")
            self.as_seen(None)
            if (watched := self.watched_here) is not None:
                self.watch(comparison_read(watched), watched)
        else:
            data, length = statement.data, statement.data.length
            whole = isinstance(data, Literal)
            self.put(f"static unsigned char piece[{max(1, length if whole else min(length, _PIECE))}];")
            self.put(*(_fill("piece", "sizeof piece", data) if length else ()))
            self.put(
                f"write_area({text}, {area}, {_number(statement.offset)}, piece, sizeof piece, {_number(length)});"
            )
        self.depth -= 1
        self.put("}")

    def invoke(self, statement: Invoke) -> None:
        kind, text, function = self.plan.invoked(statement), self.text(statement), self.slot(statement.function)
        self.given(references((statement.function, *statement.args)), text, None, False)
        self.depth += 1
        self.put(f"begin({text});", f'if (!mapped({function}.value, "x")) {{')
        self.put('    say(" -> invalid: NULL, or in no executable mapping");', "} else {")
        passed = [self.invoked(value, ctype) for value, (ctype, _) in zip(statement.args, kind.params, strict=True)]
        called = f"(({kind.ctype}){function}.value)({', '.join(passed)})"
        void, pointer = kind.returns == "void", is_pointer(kind.returns, self.plan.interface)
        form, cast = ("0x%lx", "(unsigned long)(uintptr_t)") if pointer else ("%lu", "(unsigned long)")
        self.put(f"    {called};" if void else f'    say(" -> {form}", {cast}{called});', "}", "finish();")
        self.depth -= 1
        self.put("}")

    def invoked(self, value: Value, ctype: str) -> str:
        if is_pointer(ctype, self.plan.interface):
            return self.pointer(value, ctype)
        return self.integer(value, ctype, 32 if "32" in ctype or ctype in ("int", "unsigned") else 64)

    # ---------------------------------------------------------------------------------------------------------- text

    def text(self, statement: Statement) -> str:
        """Arguments of a printing function that name `statement` and the loops around it."""
        counters = [self.loop(loop) for loop in self.loops]
        labels = ", ".join(f"{'k' if loop == _ATTEMPT else loop}=%lu" for loop in self.loops)
        if isinstance(statement, Call):
            statement = Call(statement.function, statement.args)
        line = format_line(statement).replace('"', '\\"')
        if not counters:
            return f'"{line}"'
        return f'in_loop("{line} [{labels}]", {", ".join(counters)})'

    def say(self, before: str, statement: Statement, after: str) -> None:
        self.put(f'say("{before}%s{after}\\n", {self.text(statement)});')


_ATTEMPT = "@attempt"
"""The loop of an `until`, which no program can name."""

_CODES = {
    End.COMPLETED: "0 whatever the calls answer, which is left to be compared; 1 a sanitizer sees a fault; 2 usage",
    End.CRASH: '0, with "not shown here", all calls return; 1 a sanitizer sees a fault; 2 usage; else a signal. A last '
    "line that is another call than the one above is another fault",
    End.EXIT: '0, with "not shown here", all calls return; 1 the library ends the process; 2 usage',
    End.TIMEOUT: '0, with "not shown here", all calls return; 1 one does not; 2 usage',
    End.RACE: "0 the fault is not shown, which chance decides too; 1 the sanitizer sees it; 2 usage",
}
_WATCHED = "0 the fault is not shown, or is left to be compared; 1 it is shown, or a sanitizer sees one; 2 usage"
"""What the exit codes mean, by how the fault shows."""

_WATCHED_OVER = frozenset({End.EXIT, End.TIMEOUT})
_FIRST = {
    End.EXIT: "    if ((child = begin_below()) > 0)\n        return watch_over(child, 0);\n",
    End.TIMEOUT: "    if ((child = begin_below()) > 0)\n        return watch_over(child, PATIENCE);\n",
}
_LAST = dict.fromkeys(_WATCHED_OVER, "    progress->ended = true;\n")
"""What `main` does before and after the calls, by how the fault shows."""

_PIECE = 65536
"""Bytes of a repeating pattern that are written at once; a multiple of 256, so that ramps go on."""

_C_WORDS = frozenset({"typedef", "void", "const", "struct", "enum", "unsigned", "int", "char", "long", "size_t"})


def in_comment(text: str) -> str:
    """`text` so that nothing in it ends or begins a comment, or joins its lines."""
    safe = re.sub(r"[^\S\n]|[\x00-\x09\x0b-\x1f\x7f]", " ", text)
    safe = safe.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return re.sub(r"\\[ ]*$", "", safe, flags=re.MULTILINE)


def _is_data(value: Value | None) -> bool:
    return isinstance(value, Fill | Ramp | Literal)


def _fill(at: str, size: str, value: Value | None) -> list[str]:
    """Statements that put the bytes of `value` to `at`; what a program leaves out counts from 0."""
    match value:
        case Fill(byte=byte):
            return [f"memset({at}, {byte:#04x}, {size});"]
        case Literal(data=b""):
            return []
        case Literal(data=exact):
            rows = [exact[k : k + 32] for k in range(0, len(exact), 32)]
            strings = "\n".join(f"        {quoted_bytes(row)}" for row in rows)
            return [
                f"memcpy({at},\n{strings}, {len(exact)});"
                if len(rows) > 1
                else f"memcpy({at}, {strings.strip()}, {len(exact)});"
            ]
        case Ramp(start=start):
            return [f"ramp({at}, {start}, {size});"]
    return [f"ramp({at}, 0, {size});"]


def _number(number: int) -> str:
    return str(number) if number < 2**31 else f"{number:#x}UL"


def _declare(ctype: str, name: str) -> str:
    return f"{ctype}{name}" if ctype.endswith("*") else f"{ctype} {name}"


def _prototype(signature: Signature, name: str) -> str:
    params = ", ".join(map(_parameter, signature.params)) or "void"
    return f"{_declare(signature.return_ctype, name)}({params})"


def _parameter(param: Param) -> str:
    if param.kind is Kind.DATA:
        return f"const void *{param.name}"
    if param.kind is Kind.ROOM:
        return f"void *{param.name}"
    if param.out:
        return _declare(param.ctype, f"*{param.name}")
    return ("const " if param.const and not param.ctype.startswith("const ") else "") + _declare(
        param.ctype, param.name
    )


def _callback_typedef(kind: CallbackType) -> str:
    params = ", ".join(_declare(ctype, name) for ctype, name in kind.params) or "void"
    return f"typedef {_declare(kind.returns, f'(*{kind.ctype})')}({params});"


def _said(told: Sequence[str]) -> str:
    """Statements that print the lines in `told`."""
    return "".join(f'    say("%s\\n", {_quoted(line)});\n' for line in told)


def _quoted(text: str) -> str:
    """`text` as a C string of one line; a question mark must not begin a trigraph."""
    shown = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return '"' + re.sub(r'([\\"?])', r"\\\1", shown) + '"'
