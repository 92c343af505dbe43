"""The record: a line of JSON a kernel, after one that names the compilers; and what differs from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tests.hashes.machine_code import KernelCode

__all__ = ["PATH", "Record", "differences", "read", "record_of", "write"]

PATH = Path(__file__).with_name("record.jsonl")


@dataclass(frozen=True)
class Record:
    """compilers: that made it, name to version.  kernels: by case and name."""

    compilers: Mapping[str, str]
    kernels: Mapping[tuple[str, str], KernelCode]

    def of(self, case: str) -> tuple[KernelCode, ...]:
        """The kernels of one case."""
        return tuple(kernel for kernel in self.kernels.values() if kernel.case == case)


def record_of(compilers: Mapping[str, str], kernels: Iterable[KernelCode]) -> Record:
    return Record(compilers, {(k.case, k.kernel): k for k in kernels})


def read(path: Path = PATH) -> Record:
    """What the file holds; nothing where there is none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ['{"compilers": {}}']
    return record_of(
        json.loads(lines[0])["compilers"], (KernelCode(**json.loads(line)) for line in lines[1:])
    )


def write(record: Record, path: Path = PATH) -> None:
    lines = [{"compilers": record.compilers}, *map(asdict, record.kernels.values())]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def differences(before: Record, now: Record) -> Iterator[str]:
    """A line for every kernel that is new, gone or other."""
    for key in dict.fromkeys((*before.kernels, *now.kernels)):
        old, new = before.kernels.get(key), now.kernels.get(key)
        if old != new:
            yield f"{' '.join(key)}: {_told(old, new)}"


def _told(old: KernelCode | None, new: KernelCode | None) -> str:
    if old is None or new is None:
        return "new" if old is None else "gone"
    values = ((f.name, getattr(old, f.name), getattr(new, f.name)) for f in fields(KernelCode))
    changed = [f"{name} {was} -> {is_now}" for name, was, is_now in values if was != is_now]
    return ", ".join(changed)
