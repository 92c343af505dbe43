"""What the algebra, the plan and the models say about one kernel: values, drawings, and one JSON.

expression  sums of the algebra as JSON that a page can evaluate
ladder      a Map rung by rung: rules with their laws, values, address, guards, vector widths
svg         drawings: boxes that say what they stand for, colours, a document of its own
panel       one thing to look at: a drawing, sentences, a table
products    the matrix products that a problem becomes, with what was chosen for each
subject     a request, and all that panels ask about it, each found once
panels/     one module a panel
studies     all of it together

Each name is imported when it is first used: a drawing of matrix instructions asks for no kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imbrex.explore.studies import PANELS, Study, study

__all__ = ["PANELS", "Study", "study"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from imbrex.explore import studies

    return getattr(studies, name)
