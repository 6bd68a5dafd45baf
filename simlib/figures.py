"""The house style of every plot: colours with fixed roles, direct labels, readable on a phone.

Figures carry their own light panel. Theory is drawn in black, and no single text colour reads well
on a white and on a dark page; a panel does on both, in notebooks and on web pages alike.

The colours are those of M. Okabe and K. Ito, "Color universal design" (2008), which people with
every common kind of colour vision can tell apart; line styles tell the roles apart once more.
"""

from contextlib import contextmanager

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler

from simlib.arguments import positive_real

__all__ = [
    "BOUND",
    "FALSE",
    "OTHERS",
    "SIMULATION",
    "THEORY",
    "TRIVIAL",
    "band",
    "figure",
    "house_style",
    "label_line",
    "slope_triangle",
]

#: Keyword arguments of ``ax.plot`` for each role: ``ax.plot(x, y, **THEORY)``.
THEORY = {"color": "#000000", "linestyle": "-", "linewidth": 2.0}
SIMULATION = {"color": "#0072B2", "linestyle": "-", "linewidth": 2.0}
BOUND = {"color": "#E69F00", "linestyle": "-", "linewidth": 2.4}
FALSE = {"color": "#D55E00", "linestyle": "-.", "linewidth": 2.0}
TRIVIAL = {"color": "#6E6E6E", "linestyle": "--", "linewidth": 1.8}

#: Colours of further series that have no role, such as several learners in one plot.
OTHERS = ("#009E73", "#CC79A7", "#56B4E9")

_PANEL = "#FFFFFF"
_INK = "#1F1F1F"
_GRID = "#E3E3E3"

_STYLE = {
    "figure.figsize": (6.4, 3.6),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": _PANEL,
    "savefig.facecolor": _PANEL,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.08,
    "axes.facecolor": _PANEL,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.labelsize": 12,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=[SIMULATION["color"], *OTHERS]),
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "legend.fontsize": 12,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "font.size": 12,
    # Shipped with Matplotlib: the same letters on every machine.
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "svg.hashsalt": "bounds that hold",
}


@contextmanager
def house_style():
    """Use the house style inside a ``with`` block, whatever the style outside.

    Yields
    ------
    None
    """
    with mpl.rc_context():
        mpl.rcdefaults()  # leaves the backend alone
        mpl.rcParams.update(_STYLE)
        yield


def figure(title, xlabel, ylabel, *, panels=1, aspect=16 / 9, log=""):
    """Open a figure in the house style.

    Parameters
    ----------
    title : str
        What the figure shows, as a sentence; broken into lines to fit.
    xlabel, ylabel : str
        With units.
    panels : int
        Number of axes side by side, which share the vertical axis.
    aspect : float
        Width over height, at least 16/9.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.

    Returns
    -------
    fig : matplotlib.figure.Figure
        6.4 inches wide at 110 dots an inch: letters stay readable at 390 pixels.
    ax : matplotlib.axes.Axes, or ndarray of them if ``panels > 1``

    Raises
    ------
    ValueError
        If ``aspect`` or ``log`` is out of range.
    """
    if positive_real("aspect", aspect) < 16 / 9 - 1e-9:
        raise ValueError(f"aspect = {aspect}; permitted: at least 16/9")
    if log not in ("", "x", "y", "xy"):
        raise ValueError(f"log = {log!r}; permitted: '', 'x', 'y', 'xy'")
    with house_style():
        width = _STYLE["figure.figsize"][0]
        fig, axes = plt.subplots(
            1, panels, figsize=(width, width / aspect), sharey=True, squeeze=False
        )
        axes = axes[0]
        fig.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold", wrap=True)
        for ax in axes:
            ax.set_xlabel(xlabel)
            # Ticks and grid lines are made when the figure is drawn, after the style is left.
            ax.tick_params(which="both", labelsize=_STYLE["xtick.labelsize"])
            ax.tick_params(which="both", color=_INK, labelcolor=_INK)
            ax.grid(True, color=_GRID, linewidth=_STYLE["grid.linewidth"])
            if "x" in log:
                ax.set_xscale("log")
            if "y" in log:
                ax.set_yscale("log")
        axes[0].set_ylabel(ylabel)
    return fig, axes[0] if panels == 1 else axes


def band(ax, x, low, high, role=SIMULATION):
    """Draw a confidence band in the colour of its role.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    x, low, high : array_like, shape (n,)
        Abscissas and the ends of the intervals.
    role : dict
        `SIMULATION` or another role.

    Returns
    -------
    matplotlib.collections.PolyCollection
    """
    return ax.fill_between(x, low, high, color=role["color"], alpha=0.25, linewidth=0)


def label_line(ax, line, text, *, at=1.0, offset=(6, 0), **options):
    """Write a label beside a line, in its colour, instead of a legend.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    line : matplotlib.lines.Line2D
        As returned by ``ax.plot``.
    text : str
    at : float
        Where along the line's points, from 0 (first) to 1 (last).
    offset : pair of float
        Distance from that point, in typographic points.
    **options
        Further keyword arguments of ``ax.annotate`` such as ``ha`` and ``va``.

    Returns
    -------
    matplotlib.text.Annotation

    Raises
    ------
    ValueError
        If ``at`` lies outside [0, 1].
    """
    if not 0 <= at <= 1:
        raise ValueError(f"at = {at}; permitted: numbers in [0, 1]")
    x, y = (np.asarray(values) for values in line.get_data())
    index = round(at * (len(x) - 1))
    options = {"va": "center", "fontsize": 12, "fontweight": "bold"} | options
    return ax.annotate(
        text,
        (x[index], y[index]),
        xytext=offset,
        textcoords="offset points",
        color=_legible(line.get_color()),
        annotation_clip=False,
        **options,
    )


def _legible(color):
    """The colour darkened, if needed, until it has a contrast of 4.5 on the panel."""
    rgb = np.array(mpl.colors.to_rgb(color))
    while _contrast(rgb) < 4.5:
        rgb = rgb * 0.95
    return mpl.colors.to_hex(rgb)


def _contrast(rgb):
    """Contrast ratio on white as defined by the Web Content Accessibility Guidelines 2.1."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05)


def slope_triangle(ax, slope, *, at, width=4.0, label=None, role=THEORY):
    """Draw a triangle of a claimed slope into a plot with two logarithmic axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With logarithmic axes: the slope is the exponent of a power law.
    slope : float
        Exponent, not 0.
    at : pair of float
        Its corner of smallest x on the sloping side, in data units.
    width : float
        Ratio of its largest and smallest x, above 1.
    label : str, optional
        Written beside the vertical side; by default the slope.
    role : dict
        Colour of the triangle: `THEORY`, `FALSE`, ...

    Returns
    -------
    matplotlib.patches.Polygon

    Raises
    ------
    ValueError
        If an axis isn't logarithmic or a parameter is out of range.
    """
    if ax.get_xscale() != "log" or ax.get_yscale() != "log":
        raise ValueError("ax has a linear axis; permitted: two logarithmic axes")
    if not (np.isfinite(slope) and slope != 0):
        raise ValueError(f"slope = {slope}; permitted: finite numbers except 0")
    if not width > 1:
        raise ValueError(f"width = {width}; permitted: numbers above 1")
    left, start = (positive_real("at", value) for value in at)
    right, end = left * width, start * width**slope
    (triangle,) = ax.fill(
        [left, right, right],
        [start, start, end],
        facecolor="none",
        edgecolor=role["color"],
        linewidth=1.5,
    )
    ax.annotate(
        f"{slope:g}" if label is None else label,
        (right, np.sqrt(start * end)),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=12,
        color=_legible(role["color"]),
    )
    return triangle
