"""The loader: the tables as they are, and errors that name file, line and clause."""

# ruff: noqa: E501 (tables of one case a line)

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl_cts.specs import loader
from acl_cts.specs.faults import SpecError
from acl_cts.specs.interface import Kind
from acl_cts.specs.judgement import Strength
from acl_cts.specs.loader import FOLDER, check_tables, load_spec, optional_tables, seal_tables
from acl_cts.specs.model import Spec
from acl_cts.specs.seal import SEAL, write_seal

FILES = ("mbuf.yaml", "allocator.yaml", "errors.yaml")
TEXTS = {name: (FOLDER / name).read_text(encoding="utf-8") for name in FILES}


def load(folder: Path) -> Spec:
    """The tables of `folder`, read anew."""
    load_spec.cache_clear()
    return load_spec(folder)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder with the real tables."""
    for name in FILES:
        shutil.copy(FOLDER / name, tmp_path)
    return tmp_path


def edited(folder: Path, name: str, old: str, new: str) -> int:
    """Replace the first `old` in a table; the line where it stands."""
    text = TEXTS[name]
    assert old in text, old
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


def refusal(folder: Path) -> str:
    """The message with which the tables are refused."""
    with pytest.raises(SpecError) as caught:
        load(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ------------------------------------------------------------------------------------------------ the real tables


def test_the_tables_state_both_families() -> None:
    spec = load_spec()
    assert {name: family.status for name, family in spec.families.items()} == {
        "mbuf": "reserved",
        "allocator": "documented",
    }
    functions = [f for f in spec.functions.values() if not f.auxiliary]
    assert sum(f.family == "mbuf" for f in functions) == 11
    assert sum(f.family == "allocator" for f in functions) == 10


def test_the_documented_numbers() -> None:
    limits = load_spec().limits
    assert limits["private_area"].readings == {"value": 96}
    assert limits["chain"].readings == {"value": 128}
    assert limits["data_area"].readings == {"binary": 2**32, "decimal": 4 * 10**9}
    assert (limits["data_area"].min, limits["data_area"].max) == (4 * 10**9, 2**32)
    assert limits["data_length"].relative == "buf.area.size - 1"


def test_the_documented_codes() -> None:
    spec = load_spec()
    assert spec.not_supported_codes == {200001, 200006, 207000}
    assert (spec.floor.allocation, spec.floor.live_bytes, spec.floor.live_objects) == (64 << 10, 64 << 20, 1024)
    resources = {code for code, (kind, _) in spec.codes.items() if kind == "resources"}
    assert resources == {200000, 207001, 207005, 207018}


def test_signatures_follow_the_documents() -> None:
    functions = load_spec().interface.functions
    get = functions["aclrtAllocatorGetByStream"]
    assert [p.name for p in get.params] == [
        "stream",
        "allocatorDesc",
        "allocator",
        "allocFunc",
        "freeFunc",
        "allocAdviseFunc",
        "getAddrFromBlockFunc",
    ]
    assert functions["aclrtAllocatorCreateDesc"].returns is Kind.HANDLE
    assert functions["aclrtAllocatorCreateDesc"].principal == "return"
    assert functions["aclrtGetBufFromChain"].param("index").bits == 32
    assert functions["aclrtGetBufData"].param("buf").const
    assert functions["aclrtSetBufUserData"].param("dataPtr").measure == "size"


@pytest.mark.parametrize(
    ("clause", "strength"),
    [
        ("mbuf.alloc.limit", Strength.OBLIGATION),
        ("mbuf.append.limit", Strength.OBLIGATION),
        ("mbuf.set-len.limit", Strength.OBLIGATION),
        ("mbuf.set-user.sum", Strength.EXPLICIT),
        ("mbuf.get-len.fresh", Strength.EXPLICIT),
        ("mbuf.data.size", Strength.IMPLIED),
        ("mbuf.from-chain.index", Strength.IMPLIED),
        ("mbuf.from-chain.same-handle", Strength.ADVISORY),
        ("mbuf.get-user.stale", Strength.ADVISORY),
        ("allocator.register.null-stream", Strength.EXPLICIT),
        ("allocator.register.null-desc", Strength.IMPLIED),
        ("allocator.register.needs-free", Strength.OBLIGATION),
        ("allocator.register.last-wins", Strength.EXPLICIT),
        ("allocator.unregister.unknown", Strength.EXPLICIT),
        ("common.code-class", Strength.ADVISORY),
    ],
)
def test_strengths_follow_the_documents(clause: str, strength: Strength) -> None:
    assert load_spec().clauses[clause].strength is strength


def test_every_clause_says_where_it_stands() -> None:
    for clause in load_spec().clauses.values():
        assert clause.line > 0, clause.id
        assert clause.source.document, clause.id
        assert clause.source.section, clause.id
        assert clause.source.edition, clause.id


def test_the_same_tables_have_the_same_digest_and_others_another(tables: Path) -> None:
    assert load(tables).digest == load_spec(FOLDER).digest
    edited(tables, "mbuf.yaml", "value: 96\n", "value: 128\n")
    changed = load(tables)
    assert changed.digest != load_spec(FOLDER).digest
    assert changed.limits["private_area"].max == 128


# ------------------------------------------------------------------------------------------------------- errors

NULL_OUTPUT = "id: mbuf.alloc.null-output, strength: implied, when: buf == null"

ERRORS: list[tuple[str, str, str, str, str]] = [
    ("broken YAML", "mbuf.yaml", "family: mbuf", "family: [mbuf", "not valid YAML"),
    ("unknown key", "mbuf.yaml", NULL_OUTPUT, NULL_OUTPUT + ", colour: red", "colour"),
    ("unknown strength", "mbuf.yaml", NULL_OUTPUT, NULL_OUTPUT.replace("implied", "firm"), "firm"),
    ("unknown name", "mbuf.yaml", NULL_OUTPUT, NULL_OUTPUT.replace("buf ==", "bufff =="), "unknown name 'bufff'"),
    ("unknown field", "mbuf.yaml", "when: not buf.ref, outcome", "when: not buf.reff, outcome", "no field 'reff'"),
    ("unknown limit", "mbuf.yaml", "size > limits.data_area.max", "size > limits.data_aera.max", "unknown limit"),
    ("wrong type", "mbuf.yaml", "when: size == 0, outcome: open", "when: size + 0, outcome: open", "condition is expected"),
    ("wrong comparison", "mbuf.yaml", "when: buf.area.size == 0", "when: buf.area < 0", "compares"),
    ("not a language", "mbuf.yaml", "when: size == 0, outcome: open", "when: size ** 2 == 0, outcome: open", "in the language"),
    ("a call out", "mbuf.yaml", "when: size == 0, outcome: open", "when: open(size) == 0, outcome: open", "unknown function 'open'"),
    ("an import", "mbuf.yaml", "      free(buf)\n", "      import os\n", "not in the language of effects"),
    ("broken effect", "mbuf.yaml", "      free(buf)\n", "      free(buf\n", "not an effect"),
    ("duplicate id", "mbuf.yaml", "id: mbuf.alloc.zero", "id: mbuf.alloc.limit", "used twice"),
    ("nothing to test", "mbuf.yaml", "when: buf == null, outcome: error", "when: buf == null", "nothing to test"),
    ("unknown class", "mbuf.yaml", "class: handle", "class: handel", "unknown class of codes 'handel'"),
    ("unknown document", "allocator.yaml", "document: vendor-reference", "document: vendor-manual", "unknown document"),
    ("missing document", "mbuf.yaml", "document: shared-buffer\n", "document: shared-buffers\n", "unknown document"),
    ("duplicate key", "mbuf.yaml", "family: mbuf\n", "family: mbuf\nfamily: mbuf\n", "given twice"),
    ("unknown function", "mbuf.yaml", "x = aclrtAllocBuf(size=4096)", "x = aclrtAllocBuffer(size=4096)", "aclrtAllocBuffer"),
    ("unknown parameter", "mbuf.yaml", "x = aclrtAllocBuf(size=4096)", "x = aclrtAllocBuf(length=4096)", "length"),
    ("broken program", "mbuf.yaml", "x = aclrtAllocBuf(size=4096)", "x = aclrtAllocBuf(size=", "program"),
    ("unknown field type", "mbuf.yaml", "own: bool ", "own: boolean ", "unknown type 'boolean'"),
    ("unknown handle kind", "mbuf.yaml", "handle: mbuf}", "handle: mbof}", "unknown kind of handle"),
    ("unknown C type", "mbuf.yaml", "ctype: aclrtMbuf, handle: mbuf", "ctype: aclrtMboff, handle: mbuf", "aclrtMboff"),
    ("two readings needed", "mbuf.yaml", "readings: {binary: 4294967296, decimal: 4000000000}", "readings: {binary: 4294967296}", ""),
    ("limit too large", "mbuf.yaml", "value: 96\n", "value: 18446744073709551616\n", ""),
    ("probe of no function", "mbuf.yaml", "aclrtGetBufUserData(buf=x, dataPtr=room(1)", "aclrtReadUserData(buf=x, dataPtr=room(1)", "limit private_area: probe: unknown function aclrtReadUserData"),
    ("probe of no parameter", "mbuf.yaml", "vary: offset\n", "vary: place\n", "limit private_area: probe: `vary` names an integer"),
    ("probe of nothing", "mbuf.yaml", "        vary: index\n", "", "limit chain_index: probe: the program ends in the call whose parameter"),
    ("probe without end", "mbuf.yaml", "        most: 4096\n", "", "limit chain: probe: a count needs `most`"),
    ("probe without memory", "mbuf.yaml", "most: 65536\n", "most: 1048577\n", "limit private_area: probe: `most` is beyond what size can be"),
    ("probe of a handle", "mbuf.yaml", "allowed: limit - offset", "allowed: buf", "limit private_area: probe: 'buf' is no number"),
    ("probe in other words", "mbuf.yaml", "allowed: limit - offset", "allowed: limit - place", "unknown name 'place'"),
    ("probe twice", "mbuf.yaml", "for: {APPENDED: [1, 2, 127]}", "for: {APPENDED: [1, 1, 127]}", "limit chain_index: nothing tells two probes apart"),
    ("other format", "errors.yaml", "format: 1", "format: 2", "format"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "name", "old", "new", "said"), [pytest.param(*row, id=row[0]) for row in ERRORS])
def test_an_error_says_file_and_line(tables: Path, what: str, name: str, old: str, new: str, said: str) -> None:
    edited(tables, name, old, new)
    message = refusal(tables)
    assert re.match(rf"{re.escape(name)}:\d+: ", message), message
    assert said in message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NULL_OUTPUT, NULL_OUTPUT + ", colour: red"),
        (NULL_OUTPUT, NULL_OUTPUT.replace("buf ==", "bufff ==")),
        (NULL_OUTPUT + ", outcome: error", NULL_OUTPUT),
        (NULL_OUTPUT, NULL_OUTPUT.replace("implied", "firm")),
        (NULL_OUTPUT, NULL_OUTPUT + ", class: nobody"),
        (NULL_OUTPUT, NULL_OUTPUT + ", document: nowhere"),
    ],
)
def test_an_error_in_a_clause_names_line_and_clause(tables: Path, old: str, new: str) -> None:
    line = edited(tables, "mbuf.yaml", old, new)
    message = refusal(tables)
    assert message.startswith(f"mbuf.yaml:{line}: ")
    assert "mbuf.alloc.null-output: " in message


def test_a_key_given_twice_is_named_with_its_line(tables: Path) -> None:
    line = edited(tables, "mbuf.yaml", NULL_OUTPUT, NULL_OUTPUT + ", strength: advisory")
    assert refusal(tables).startswith(f"mbuf.yaml:{line}: ")
    assert "'strength' is given twice" in refusal(tables)


def test_files_that_are_no_tables(tables: Path) -> None:
    path = tables / "mbuf.yaml"
    for content in (b"\xff\xfe\x00", b"", b"[1, 2]", b"42", b"\x00", b"a: &x [*x]\n"):
        path.write_bytes(content)
        assert refusal(tables).startswith("mbuf.yaml:1: "), content
    path.write_bytes("family: mbuf\n".encode("utf-16"))
    assert refusal(tables).startswith("mbuf.yaml:1: ")


def test_tables_that_are_not_there(tables: Path, tmp_path: Path) -> None:
    (tables / "errors.yaml").unlink()
    assert "errors.yaml" in refusal(tables)
    empty = tmp_path / "empty"
    empty.mkdir()
    shutil.copy(FOLDER / "errors.yaml", empty)
    assert "no table" in refusal(empty)


def test_a_function_described_in_two_tables(tables: Path) -> None:
    (tables / "again.yaml").write_text(TEXTS["mbuf.yaml"].replace("family: mbuf", "family: again", 1), encoding="utf-8")
    assert re.match(r"(again|mbuf)\.yaml:\d+: ", refusal(tables))


# ---------------------------------------------------------------------------------------------- mutated tables

WORDS = (
    "buf",
    "size",
    "len",
    "null",
    "unknown",
    "limits.chain",
    "{}",
    "[]",
    "''",
    "0",
    "-1",
    "true",
    "handle",
    ": ",
    ", ",
)


def mutate(line: str, how: int, at: int, word: str) -> str:
    """A line dropped, doubled, cut, indented, or with a word put in or replaced."""
    match how:
        case 0:
            return ""
        case 1:
            return line + "\n" + line
        case 2:
            return line[:at]
        case 3:
            return line[:at] + word + line[at:]
        case 4:
            return re.sub(r"\w+(?=\W*$)", word, line)
        case 5:
            return re.sub(r"[a-z_]+", word, line, count=at % 9 + 1)
    return " " + line


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str]:
    """A table with one to three lines changed."""
    name = draw(st.sampled_from(FILES))
    lines = TEXTS[name].split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = mutate(lines[at], draw(st.integers(0, 6)), draw(st.integers(0, 120)), draw(st.sampled_from(WORDS)))
    return name, "\n".join(lines)


def loaded_or_refused(folder: Path) -> str:
    """'' or the message with which the tables are refused; any other exception is a fault of the loader."""
    try:
        assert isinstance(load(folder), Spec)
    except SpecError as error:
        return str(error)
    finally:
        load_spec.cache_clear()
    return ""


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_a_mutated_table_is_loaded_or_refused(tmp_path_factory: pytest.TempPathFactory, case: tuple[str, str]) -> None:
    name, text = case
    folder = tmp_path_factory.mktemp("tables")
    (folder / "errors.yaml").write_text(TEXTS["errors.yaml"], encoding="utf-8")
    if name == "errors.yaml":
        (folder / "allocator.yaml").write_text(TEXTS["allocator.yaml"], encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    message = loaded_or_refused(folder)
    shutil.rmtree(folder)
    assert not message or re.match(r"\w+\.yaml:\d+: ", message), message


KEYS = sorted({(name, key) for name in FILES for key in yaml.safe_load(TEXTS[name])})
SHAPES: tuple[object, ...] = (None, [], {}, "text")


@pytest.mark.parametrize(("name", "key"), KEYS)
def test_a_whole_part_missing_or_of_another_shape(tables: Path, name: str, key: str) -> None:
    data = yaml.safe_load(TEXTS[name].replace(" on:", " 'on':"))
    (tables / ("allocator.yaml" if name == "mbuf.yaml" else "mbuf.yaml")).unlink()
    for shape in SHAPES:
        changed = {k: v for k, v in data.items() if k != key} if shape is None else {**data, key: shape}
        (tables / name).write_text(yaml.safe_dump(changed, allow_unicode=True, sort_keys=False), encoding="utf-8")
        message = loaded_or_refused(tables)
        assert not message or re.match(r"\w+\.yaml:\d+: ", message), message


# ------------------------------------------------------------------------------------------------------- the seal


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the folder of tables that the loader takes for its own."""
    own = tmp_path / "specs"
    shutil.copytree(FOLDER, own)
    monkeypatch.setattr(loader, "FOLDER", own)
    monkeypatch.setattr(loader, "OPTIONAL", own / "more")
    yield own
    load_spec.cache_clear()


def test_sealed_tables_are_held_against_the_schema_again_once_it_changes(suite: Path) -> None:
    assert isinstance(load(suite), Spec)
    schema = suite / "schema.json"
    schema.write_text(schema.read_text(encoding="utf-8").replace('"pattern": "', '"pattern": "never', 1), "utf-8")
    assert ".yaml:" in refusal(suite)


def test_a_sealed_table_that_is_gone_is_told(suite: Path) -> None:
    (suite / "mbuf.yaml").unlink()
    assert "mbuf.yaml: is missing" in refusal(suite)


@pytest.mark.parametrize("text", ["{", "[]", '{"type": 5}', ""])
def test_a_damaged_schema_is_told(suite: Path, text: str) -> None:
    (suite / "schema.json").write_text(text, encoding="utf-8")
    assert refusal(suite).startswith("schema.json: is no JSON schema")


def test_a_seal_that_is_no_text_is_told(suite: Path) -> None:
    (suite / SEAL).write_bytes(b"\xff\xfe\x00")
    assert "is not the table that this version ships" in refusal(suite)


def test_a_table_sealed_against_the_schema_is_found_by_the_check(suite: Path) -> None:
    """As when two changes meet, each of them sealed: the table of one, the schema of the other."""
    edited(suite, "mbuf.yaml", " strength: ", " surplus: 1, strength: ")
    write_seal(suite, [*suite.glob("*.yaml"), suite / "schema.json"])
    with pytest.raises(SpecError, match="surplus"):
        check_tables()


def test_the_tables_of_the_suite_keep_to_the_schema() -> None:
    check_tables(optional_tables())


def test_a_table_against_the_schema_is_not_sealed(suite: Path) -> None:
    seal = (suite / SEAL).read_text(encoding="utf-8")
    edited(suite, "mbuf.yaml", "strength:", "strenght:")
    with pytest.raises(SpecError, match=r"^mbuf\.yaml:\d+: mbuf\.\S+: .strength. is a required property"):
        seal_tables()
    assert (suite / SEAL).read_text(encoding="utf-8") == seal


def test_what_was_sealed_is_what_is_read(suite: Path) -> None:
    edited(suite, "mbuf.yaml", 'Shared buffers (Mbuf)"', 'Our buffers"')
    assert "is not the table that this version ships" in refusal(suite)
    assert seal_tables() == 4
    load_spec.cache_clear()
    assert any(family.title_en == "Our buffers" for family in load(suite).families.values())
