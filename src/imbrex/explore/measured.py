"""Times that were measured of a subject's problem, in the user's tuning database and in the shipped one."""

from __future__ import annotations

from imbrex.database.location import shipped_text, user_path
from imbrex.database.record import Trial
from imbrex.database.view import rows_in
from imbrex.diagnostic import Diagnostic
from imbrex.explore.subject import Subject
from imbrex.numeral import counted
from imbrex.problem import problem_text

__all__ = ["measured_of"]


def measured_of(subject: Subject) -> tuple[dict[str, float], str]:
    """Median nanoseconds by configuration, the user's before the shipped ones; and what there is to say."""
    target, path = subject.request.target, user_path()
    if path is None:
        return {}, "Databases of tunings are switched off (IMBREX_DB)."
    shelves = [p for p in (path, shipped_text(target)) if p is not None and p.exists()]
    if not shelves:
        return {}, "Nothing was measured here: there is no tuning database (imbrex tune makes one)."
    text, found, devices = problem_text(subject.request.problem), dict[str, float](), set[str]()
    for shelf in shelves:
        try:
            rows = rows_in(shelf)
        except Diagnostic as error:
            return {}, f"The tuning database cannot be read: {error.message}."
        for unit, row in rows:
            if not isinstance(row, Trial) or (unit.problem, unit.target) != (text, target):
                continue
            if row.median_ns and row.configuration not in found:
                found[row.configuration] = row.median_ns
                devices.add(unit.device.name)
    if not found:
        return {}, f"No tuning database has times of this problem on {target}."
    best = min(found, key=lambda text: found[text])
    many = counted(len(found), "configuration was", "configurations were")
    return found, (
        f"{many} measured on {', '.join(sorted(devices))} (edged; medians in the table); "
        f"the fastest takes {found[best] / 1000:,.2f} us: {best}."
    )
