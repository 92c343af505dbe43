"""Main: every kernel of a kit, in a process that a fault may end; what was found, as JSON.

Law: a kernel that ends its process, or does not end, is one entry of the report, and the others still run.
"""

from __future__ import annotations

import argparse
import json
import platform
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .case import ran
from .draw import JsonObject
from .hip import Hip, Refused

__all__ = ["main"]

FORMAT = 1
RIGHT, WRONG, CANNOT = 0, 1, 2
"""Exit codes."""
START_S = 120.0
"""Seconds that a process has to find its GPU."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    given = _parser().parse_args(arguments)
    try:
        kit = _read(given.kit)
        cases = _chosen(kit, given.only)
        if given.child is not None:
            return _child(given, kit, cases)
        return _parent(given, kit, cases, sys.argv[1:] if arguments is None else list(arguments))
    except Refused as refused:
        if given.child is not None:
            _tell({"refused": str(refused)})
        else:
            print(f"error: {refused}", file=sys.stderr)
        return CANNOT


def _parser() -> argparse.ArgumentParser:
    description = "Runs every kernel of this kit on an AMD GPU, checks all results, times some calls."
    parser = argparse.ArgumentParser(prog="verify.py", description=description)
    parser.add_argument("-o", "--output", default="report.json", metavar="FILE", help="the report")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="which GPU; 0")
    parser.add_argument("--hip", metavar="FILE", help="the HIP runtime, libamdhip64.so")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose line has this text")
    parser.add_argument("--no-times", action="store_true", help="check only")
    parser.add_argument("--limit", type=float, default=300.0, metavar="SECONDS", help="of a kernel; 300")
    own = Path(__file__).resolve().parents[1]
    parser.add_argument("--kit", type=Path, default=own, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    return parser


def _read(folder: Path) -> JsonObject:
    try:
        kit = json.loads((folder / "kit.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"there is no kit in '{folder}': {error}\nhint: unpack all of its archive") from None
    if kit["format"] != FORMAT:
        raise Refused(f"the kit is of format {kit['format']}, and this program reads {FORMAT}")
    return kit


def _chosen(kit: JsonObject, text: str) -> list[JsonObject]:
    found = [one for one in kit["cases"] if text in f"{one['problem']} {one['configuration']}"]
    if not found:
        raise Refused(f"no kernel of this kit has '{text}' in its line")
    return found


def _tell(value: JsonObject) -> None:
    print(json.dumps(value), flush=True)


def _child(given: argparse.Namespace, kit: JsonObject, cases: Sequence[JsonObject]) -> int:
    """Kernels from a number on, each told when it begins and when it is done, a line each."""
    hip = Hip(given.hip, given.device)
    facts = hip.facts()
    if facts["chip"] != kit["target"]:
        named = f"{facts['name']}, {facts['chip'] or 'of an unknown kind'}"
        raise Refused(f"the kit is for {kit['target']}, and GPU {given.device} is {named}")
    _tell({"facts": facts})
    for number in range(given.child, len(cases)):
        _tell({"begun": number})
        try:
            found = ran(hip, given.kit, kit, cases[number], is_timed=not given.no_times)
        except Refused as refused:  # a launch that failed may have spoilt the process
            _tell({"done": number, "found": {"is_right": False, "error": str(refused)}})
            return WRONG
        _tell({"done": number, "found": found})
    return RIGHT


def _parent(given: argparse.Namespace, kit: JsonObject, cases: Sequence[JsonObject], words: list[str]) -> int:
    report: dict[str, Any] = {
        "format": FORMAT, "kit": kit["digest"], "imbrex": kit["imbrex"], "target": kit["target"],
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": {"system": platform.platform(), "python": platform.python_version(), "numpy": np.__version__},
        "device": None, "cases": [],
    }  # fmt: skip
    first = 0
    while first < len(cases):
        before = first
        for line in _events_of_child(given, words, first):
            if "refused" in line:
                raise Refused(line["refused"])
            if "facts" in line:
                report["device"] = line["facts"]
            if "done" in line:
                number: int = line["done"]
                case = cases[number]
                known = ("problem", "configuration", "predicted_s", "flops", "bytes", "is_timed")
                report["cases"].append({**{name: case[name] for name in known}, **line["found"]})
                print(_row(report["cases"][-1]), flush=True)
                _write(Path(given.output), report)
                first = number + 1
        if first == before:
            raise Refused("the process that runs kernels ended before any of them")
    wrong = sum(not one["is_right"] for one in report["cases"])
    many = "1 kernel is" if len(cases) == 1 else f"{len(cases)} kernels are"
    print(f"{len(cases) - wrong} of {many} right; send back {given.output}")
    return WRONG if wrong else RIGHT


def _events_of_child(given: argparse.Namespace, words: list[str], first: int) -> Iterator[dict[str, Any]]:
    """What a process says; of the kernel that it had begun when it ended too early, that."""
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, sys.argv[0], *words, "--child", str(first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        lines: queue.Queue[str | None] = queue.Queue()
        assert process.stdout is not None
        threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True).start()
        begun, is_early, fault, limit = None, True, "", START_S
        try:
            while (text := lines.get(timeout=limit)) is not None:
                line = json.loads(text)
                begun, is_early = line.get("begun"), "facts" in line
                limit = START_S if begun is None else given.limit
                yield line
            code = process.wait()
            fault = (
                f"the process ended with code {code}" if code >= 0 else f"the process ended by signal {-code}"
            )
        except queue.Empty:
            fault = f"no answer after {limit:.0f} seconds"
        finally:
            process.kill()
            process.wait()
        last = _last_line(errors)
        if begun is not None:
            error = f"{fault}: {last}" if last else fault
            yield {"done": begun, "found": {"is_right": False, "error": error}}
        elif is_early:
            raise Refused(f"{fault} before any kernel: {last}")


def _read_lines(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _row(found: JsonObject) -> str:
    """A kernel in a line."""
    said = "right" if found["is_right"] else "WRONG"
    time_s, predicted_s = found.get("time_s"), found["predicted_s"]
    if time_s is not None:
        said += f"  {time_s['median'] * 1e6:.1f} us"
        said += "" if predicted_s is None else f" ({predicted_s * 1e6:.1f} predicted)"
    wrong = [f"  {one['values']}: {one['told']}" for one in found.get("passes", []) if not one["is_right"]]
    wrong += [f"  {found['error']}"] if "error" in found else []
    return "\n".join([f"{said}  {found['problem']}  [{found['configuration']}]", *wrong])


def _write(path: Path, report: JsonObject) -> None:
    """The report so far; the file is whole at any time."""
    made = path.with_name(f".{path.name}.new")
    try:
        made.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        made.replace(path)
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error}") from None
