"""A matplotlib backend without a display: `plt.show()` saves every open figure as a PNG in the working directory."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

from matplotlib import _pylab_helpers
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

FigureCanvas = FigureCanvasAgg
FigureManager = FigureManagerBase


def show(*_arguments: Any, **_options: Any) -> None:
    """Saves and closes all open figures, in order."""
    for manager in sorted(_pylab_helpers.Gcf.get_all_fig_managers(), key=lambda manager: manager.num):
        figure = manager.canvas.figure
        if figure.get_axes():
            _save(figure)
        _pylab_helpers.Gcf.destroy(manager)


def _save(figure: Any) -> None:
    """Saves one figure. Reports characters missing from the fonts in a helpful line, not in warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(_free_name(), dpi=max(figure.dpi, 120))
    texts = [str(warning.message) for warning in caught]
    codes = sorted({int(match[1]) for text in texts if (match := re.match(r"Glyph (\d+) .*missing", text))})
    if codes:
        print(f"The fonts here lack: {''.join(map(chr, codes))}. Write the chart's texts in Latin letters.")


def _free_name() -> str:
    number = 1
    while os.path.exists(f"figure-{number}.png"):
        number += 1
    return f"figure-{number}.png"
