"""Signatures by minisign and GnuPG: with one, any change at all is found."""

from __future__ import annotations

import gc
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from needed import lacking

from acl_cts.main import main
from acl_cts.qualification import verify_package
from acl_cts.qualification.signing import Signature, SignatureError, Tool, check_signature, sign
from acl_cts.qualification.verification import Asked


class Keys:
    """Two keys of one tool in a folder: the vendor's, and somebody else's."""

    def __init__(self, tool: Tool, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.tool = tool
        self.folder = folder
        if tool is Tool.GPG:
            home = folder / "home"
            home.mkdir(mode=0o700)
            patch.setenv("GNUPGHOME", str(home))
        self.vendor, self.vendor_public = self._make("vendor")
        self.other, self.other_public = self._make("other")

    def _make(self, name: str) -> tuple[str, str]:
        """What signs, and the file with the public key."""
        secret, public = self.folder / f"{name}.key", self.folder / f"{name}.pub"
        if self.tool is Tool.MINISIGN:
            run("minisign", "-G", "-W", "-p", str(public), "-s", str(secret))
            return str(secret), str(public)
        mail = f"{name}@example.org"
        run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", mail, "ed25519", "sign", "never")
        run("gpg", "--batch", "--armor", "--output", str(public), "--export", mail)
        return mail, str(public)


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    with pytest.raises(SystemExit) as ended:
        main(["qualify", "--backend", "simulator", "--group", "simple", "--out", str(folder / "p.zip"), "-q"])
    gc.enable()
    assert ended.value.code == 0
    return folder / "p.zip"


@pytest.fixture(scope="module", params=list(Tool))
def keys(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
    tool: Tool = request.param
    if shutil.which(tool.value) is None:
        lacking(tool.value, f"{tool} is not installed here; apt-get install {tool.package}")
    # The agent that GnuPG starts listens in the home folder, whose path must be short.
    folder = tmp_path_factory.mktemp("k")
    with pytest.MonkeyPatch.context() as patch:
        yield Keys(tool, folder, patch)
        if tool is Tool.GPG:
            subprocess.run(["gpgconf", "--kill", "all"], check=False)


@pytest.fixture
def signed(package: Path, keys: Keys, tmp_path: Path) -> Path:
    """A copy of the package, signed by the vendor."""
    path = Path(shutil.copy(package, tmp_path / "p.zip"))
    place = sign(path, Signature(keys.tool, keys.vendor))
    assert place == tmp_path / f"p.zip{keys.tool.suffix}"
    return path


def asked(keys: Keys, public: str) -> Asked:
    return Asked(signed_by=f"{keys.tool}:{public}")


def test_the_vendors_signature_is_found_good(signed: Path, keys: Keys) -> None:
    found = verify_package(signed, asked(keys, keys.vendor_public))
    assert not found.problems
    assert found.signed.startswith(keys.tool.value)
    assert found.judged


def test_somebody_elses_signature_is_named(signed: Path, keys: Keys) -> None:
    found = verify_package(signed, asked(keys, keys.other_public))
    assert [str(problem.kind) for problem in found.problems] == ["signature"]
    assert found.code == 6
    assert not found.judged


def test_a_signature_of_another_package_is_named(signed: Path, keys: Keys) -> None:
    other = signed.with_name("other.zip")
    other.write_bytes(b"something else")
    sign(other, Signature(keys.tool, keys.vendor))
    beside = signed.with_name(f"other.zip{keys.tool.suffix}")
    found = verify_package(signed, Asked(signed_by=f"{keys.tool}:{keys.vendor_public}", signature=beside))
    assert [str(problem.kind) for problem in found.problems] == ["signature"]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_byte_that_is_changed_is_found(signed: Path, keys: Keys, data: st.DataObject) -> None:
    raw = bytearray(signed.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(SignatureError) as refused:
        check_signature(bytes(raw), signed, Signature(keys.tool, keys.vendor_public))
    assert refused.value.refuted


def test_a_signature_that_is_none_or_not_there_is_bad_input(signed: Path, keys: Keys, tmp_path: Path) -> None:
    by = Signature(keys.tool, keys.vendor_public)
    nothing = tmp_path / "nothing"
    with pytest.raises(SignatureError, match="no signature there") as refused:
        check_signature(signed.read_bytes(), signed, by, nothing)
    assert not refused.value.refuted
    nothing.write_bytes(b"\x00no signature")
    with pytest.raises(SignatureError) as wrong:
        check_signature(signed.read_bytes(), signed, by, nothing)
    assert wrong.value.refuted
    nothing.write_bytes(b"x" * 2**17)
    with pytest.raises(SignatureError, match="is no signature"):
        check_signature(signed.read_bytes(), signed, by, nothing)


def test_keys_that_are_none_are_bad_input(signed: Path, keys: Keys) -> None:
    with pytest.raises(SignatureError, match="is neither a file with a public key") as refused:
        check_signature(signed.read_bytes(), signed, Signature(keys.tool, "vendor"))
    assert not refused.value.refuted
    with pytest.raises(SignatureError):
        sign(signed, Signature(keys.tool, "nobody"))


def test_a_fingerprint_means_the_key_in_ones_own_keyring(package: Path, tmp_path: Path, keys: Keys) -> None:
    if keys.tool is not Tool.GPG:
        key = Path(keys.vendor_public).read_text(encoding="ascii").splitlines()[1]
    else:
        listed = run("gpg", "--batch", "--with-colons", "--list-keys", keys.vendor)
        key = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))
    path = Path(shutil.copy(package, tmp_path / "q.zip"))
    sign(path, Signature(keys.tool, keys.vendor))
    assert key in check_signature(path.read_bytes(), path, Signature(keys.tool, key))


@pytest.mark.parametrize("tool", list(Tool))
def test_a_program_that_is_not_installed_is_named_with_its_package(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SignatureError, match=f"the package {tool.package} brings it") as refused:
        check_signature(b"", tmp_path / "p.zip", Signature(tool, "x"))
    assert not refused.value.refuted


def test_the_command_signs_and_looks_at_signatures(
    package: Path, keys: Keys, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder, out = package.with_suffix(""), tmp_path / "s.zip"
    words = ["qualify", "--from", str(run_folder), "--out", str(out), "--sign", f"{keys.tool}:{keys.vendor}"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    gc.enable()
    assert ended.value.code == 0
    assert f"signed   {out}{keys.tool.suffix}" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["qualify", "verify", str(out), "--signed-by", f"{keys.tool}:{keys.other_public}"])
    gc.enable()
    assert ended.value.code == 6
    assert "signature: the signature does not fit" in capsys.readouterr().out
