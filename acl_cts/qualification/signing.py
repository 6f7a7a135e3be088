"""Signatures of packages, made and looked at by the programs that people use for it: minisign and GnuPG."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shutil import which

from acl_cts.reports.files import ReportError, write_bytes
from acl_cts.reports.harmless import harmless

TIMEOUT = 120.0
"""Seconds that a program may take; somebody may have to type a passphrase."""

FINGERPRINT = re.compile(r"[0-9A-F]{40}([0-9A-F]{24})?")
MINISIGN_KEY = re.compile(r"[A-Za-z0-9+/]{56}")
LARGEST = 2**16
"""Bytes of a signature."""

REFUTING = ("BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG", "NODATA", "KEYEXPIRED", "FAILURE")
"""Words by which GnuPG says that a signature is not to be trusted."""


class SignatureError(ReportError):
    """A signature cannot be made, or not be looked at; `refuted`: it was looked at, and does not fit. One line."""

    def __init__(self, message: str, *, refuted: bool = False) -> None:
        super().__init__(message)
        self.refuted = refuted


class Tool(StrEnum):
    """A program that signs."""

    GPG = "gpg"
    MINISIGN = "minisign"

    @property
    def suffix(self) -> str:
        """How a signature file ends."""
        return ".asc" if self is Tool.GPG else ".minisig"

    @property
    def package(self) -> str:
        """The package of Debian that brings it."""
        return "gnupg" if self is Tool.GPG else "minisign"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signs, or signed: a `tool` and its `key`."""

    tool: Tool
    key: str

    @staticmethod
    def parse(text: str) -> Signature:
        """The signature that `gpg:KEY` or `minisign:KEY` means. Raises SignatureError."""
        word, colon, key = text.partition(":")
        if word not in set(Tool) or not colon or not key:
            raise SignatureError(f"{text!r} is neither gpg:KEY nor minisign:KEY")
        return Signature(Tool(word), key)

    def beside(self, package: Path) -> Path:
        """Where the signature of `package` stands."""
        return package.with_name(package.name + self.tool.suffix)


def check_signer(by: Signature) -> None:
    """Raise SignatureError when it is known beforehand that `by` cannot sign: before a run takes its time."""
    _program(by.tool)
    if by.tool is Tool.MINISIGN and not Path(by.key).is_file():
        raise SignatureError(f"--sign minisign:{by.key}: no secret key file there")


def sign(package: Path, by: Signature) -> Path:
    """Put a signature of the file `package` beside it; its path. Raises SignatureError."""
    check_signer(by)
    program = _program(by.tool)
    place = by.beside(package)
    with tempfile.TemporaryDirectory(prefix="acl-cts-") as folder:
        made = Path(folder) / "signature"
        if by.tool is Tool.GPG:
            command = [program, "--batch", "--yes", "--armor", "--local-user", by.key, "--output", str(made)]
            done = _run([*command, "--detach-sign", "--", str(package)])
        else:
            done = _run([program, "-S", "-s", by.key, "-m", str(package), "-x", str(made)])
        if done.returncode or not made.is_file():
            raise SignatureError(f"{package}: {by.tool} did not sign it ({_last(done)}); the package itself is written")
        write_bytes(place, made.read_bytes())
    return place


def check_signature(raw: bytes, package: Path, by: Signature, signature: Path | None = None) -> str:
    """Whether the signature, beside `package` unless it is in the file `signature`, is one of the bytes `raw` by that
    key: one line that says so. Raises SignatureError, `refuted` when it is not."""
    program = _program(by.tool)
    place = signature or by.beside(package)
    try:
        content = place.read_bytes()
    except OSError as error:
        told = f"{place}: no signature there ({error.strerror}); give it with --signature FILE"
        raise SignatureError(told) from error
    if len(content) > LARGEST:
        raise SignatureError(f"{place}: is no signature: it has {len(content)} bytes")
    with tempfile.TemporaryDirectory(prefix="acl-cts-") as folder:
        # The very bytes that are judged afterwards, whatever becomes of the file.
        signed, detached = Path(folder) / "package", Path(folder) / "signature"
        signed.write_bytes(raw)
        detached.write_bytes(content)
        check = _by_gpg if by.tool is Tool.GPG else _by_minisign
        return check(program, by.key, signed, detached)


def _by_gpg(program: str, key: str, signed: Path, detached: Path) -> str:
    """With a fingerprint the key is looked for in the user's keyring; with a file nothing but the keys in it count."""
    options = [program, "--batch", "--no-auto-key-retrieve", "--status-fd", "1"]
    wanted = key.replace(" ", "").upper().removeprefix("0X")
    if Path(key).is_file():
        home = signed.with_name("home")
        home.mkdir(mode=0o700)
        options += ["--homedir", str(home), "--no-autostart"]
        done = _run([*options, "--import", "--", key])
        imported = re.findall(r"^\[GNUPG:\] IMPORT_OK \d+ ([0-9A-F]+)", done.stdout, re.MULTILINE)
        if not imported:
            raise SignatureError(f"{key}: holds no public key ({_last(done)})")
        accepted = set(imported)
    elif FINGERPRINT.fullmatch(wanted):
        accepted = {wanted}
    else:
        raise SignatureError(f"gpg:{key}: is neither a file with a public key nor a whole fingerprint (40 digits)")
    done = _run([*options, "--verify", "--", str(detached), str(signed)])
    status = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("[GNUPG:] ")]
    if any(words and words[0] == "NO_PUBKEY" for words in status):
        raise SignatureError("the signature is of a key that is not at hand or not the one asked for", refuted=True)
    valid = [words for words in status if words and words[0] == "VALIDSIG"]
    refuting = [words[0] for words in status if words and words[0] in REFUTING]
    good = any(words and words[0] == "GOODSIG" for words in status)
    if done.returncode or refuting or len(valid) != 1 or not good:
        raise SignatureError(f"gpg says {', '.join(dict.fromkeys(refuting)) or 'that it does not fit'}", refuted=True)
    primary = valid[0][-1]
    if not accepted & {primary, valid[0][1]}:
        raise SignatureError(f"is signed by {primary}, which is not the key asked for", refuted=True)
    return f"gpg, key {primary}"


def _by_minisign(program: str, key: str, signed: Path, detached: Path) -> str:
    if Path(key).is_file():
        options = ["-p", key]
    elif MINISIGN_KEY.fullmatch(key):
        options = ["-P", key]
    else:
        raise SignatureError(f"minisign:{key}: is neither a file with a public key nor one of 56 characters")
    done = _run([program, "-V", *options, "-m", str(signed), "-x", str(detached)])
    if done.returncode:
        raise SignatureError(f"minisign says: {_last(done)}", refuted=True)
    comment = re.search(r"^Trusted comment: (.*)$", done.stdout, re.MULTILINE)
    return f"minisign, key {key}" + (f" ({harmless(' '.join(comment[1].split()))})" if comment else "")


def _program(tool: Tool) -> str:
    found = which(tool.value)
    if found is None:
        raise SignatureError(f"{tool} is not installed; on Debian and Ubuntu the package {tool.package} brings it")
    return found


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SignatureError(f"{command[0]}: {harmless(error)}") from error


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of what a program said."""
    lines = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    return harmless(lines[-1]) if lines else f"exit code {done.returncode}"
