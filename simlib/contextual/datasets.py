"""Data sets as contexts: rows of a table are jobs, their classes say which server can serve them.

The source runs its policies on MNIST, Heart Disease and In-Vehicle Coupon Recommendation and does not
say how a class label yields a departure. We have two answers, both ours (`instance_from_data`):

* "label": a job of class c departs for certain at server c and never at another one. Then a uniform
  server succeeds with probability 1/K, and the source's arrival rates (0.15 for ten classes, 0.2 for
  five, 0.5 for two) are at or a little above it, which makes this the likelier reading. The logistic
  model is then wrong, and no assumption of the theory is claimed;
* "fitted": server k has the parameter of a regularised logistic regression of "is of class k" on the
  features, and the model is right. It has no constant term, as the theory's model has none: a row of
  zeros, which is the mean row of a standardised table, has rate 1/2 at every server.

Contexts are features divided by the largest norm of a row, so that Assumption 3.1 holds.

The data sets come from elsewhere. "digits", "iris", "wine" and "breast cancer" are shipped with
scikit-learn; "mnist" is fetched from OpenML by scikit-learn, which keeps a copy in its data folder;
"heart disease" and "coupon" are files of the UCI repository. These three can be read from local files.
"""

import csv
import http.client
import importlib.util
import io
import math
import urllib.request
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from simlib import arguments
from simlib.contextual.formulas import radius_of_kappa
from simlib.contextual.model import Instance, finite_instance, service_rates
from simlib.streams import as_seed_sequence

__all__ = ["ContextData", "block_averages", "context_data", "instance_from_data", "load_data"]

_SHIPPED = {
    "breast cancer": "load_breast_cancer",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_ADDRESSES = {
    "coupon": _UCI + "00603/in-vehicle-coupon-recommendation.csv",
    "heart disease": _UCI + "heart-disease/processed.cleveland.data",
}
#: Files of the source's data sets, as `load_data` reads them from a path.
_FILES = {
    "coupon": "in-vehicle-coupon-recommendation.csv",
    "heart disease": "processed.cleveland.data",
    "mnist": "mnist.npz",
}
#: Columns of the file of Heart Disease, which has no header; categories are marked.
_HEART = [
    "age",
    "sex*",
    "cp*",
    "trestbps",
    "chol",
    "fbs*",
    "restecg*",
    "thalach",
    "exang*",
    "oldpeak",
    "slope*",
    "ca",
    "thal*",
]
#: Missing in 99 rows of 100; with it, hardly any row would be complete.
_DROPPED = "car"
_SAMPLES = 4000


@dataclass(frozen=True, eq=False)
class ContextData:
    """Contexts with classes.

    Attributes
    ----------
    name : str
    contexts : ndarray, shape (n, d)
        Of norm at most 1.
    labels : ndarray of int64, shape (n,)
        Class of each, 0..K-1.
    classes : tuple of str, length K
        What the classes are called.
    """

    name: str
    contexts: NDArray[np.float64]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]


def context_data(features: Any, labels: Any, *, name: str = "data") -> ContextData:
    """Turn a table of features and its classes into contexts.

    Parameters
    ----------
    features : array_like, shape (n, d)
        Finite numbers, not all zero.
    labels : sequence of length n
        Class of each row, all numbers or all text; at least two different ones.
    name : str

    Returns
    -------
    ContextData
        Features divided by the largest norm of a row.

    Raises
    ------
    ValueError
        If the shapes do not fit, a feature is not finite, or labels cannot be sorted.
    """
    try:
        table = np.array(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("features are not numeric; permitted: finite numbers, (n, d)") from None
    labels = np.asarray(labels)
    if table.ndim != 2 or labels.shape != table.shape[:1] or not table.size:
        raise ValueError(
            f"features have shape {table.shape} and labels {labels.shape}; permitted: (n, d) and (n,)"
        )
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        i, a = bad[0].tolist()
        raise ValueError(f"features[{i}, {a}] = {table[i, a]}; permitted: finite numbers")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("labels are of mixed kinds; permitted: all numbers or all text") from None
    if classes.size < 2:
        raise ValueError(f"labels are all {classes[0]}; permitted: at least two classes")
    largest = np.abs(table).max()
    if largest == 0:
        raise ValueError("features are all zero; permitted: at least one other row")
    table /= largest  # so that squares neither overflow nor vanish
    longest = np.sqrt((table**2).sum(axis=1)).max()
    # A little more, so that rounding leaves no norm above 1.
    contexts = table / (longest * (1 + 1e-12))
    return ContextData(name, contexts, numbers.astype(np.int64), tuple(str(one) for one in classes))


def block_averages(images: Any, block: int) -> NDArray[np.float64]:
    """Average non-overlapping square blocks of images and flatten the result.

    Parameters
    ----------
    images : array_like, shape (n, height, width)
    block : int
        Side of a block; divides height and width.

    Returns
    -------
    ndarray, shape (n, height * width / block**2)

    Raises
    ------
    ValueError
        If the block does not divide the images.

    References
    ----------
    Appendix A: 4 x 4 blocks of 28 x 28 images, 49 features.
    """
    images = np.asarray(images, dtype=np.float64)
    block = arguments.positive_integer("block", block)
    if images.ndim != 3 or images.shape[1] % block or images.shape[2] % block:
        raise ValueError(
            f"block = {block} for images of shape {images.shape}; permitted: (n, height, width) with "
            f"both sides multiples of the block"
        )
    n, height, width = images.shape
    tiles = images.reshape(n, height // block, block, width // block, block)
    return tiles.mean(axis=(2, 4)).reshape(n, -1)


def load_data(name: str, *, path: Any = None, seed: Any = 0) -> ContextData:
    """Load a data set and prepare it as the source does, as far as that is said.

    Parameters
    ----------
    name : str
        "digits" (8 x 8 images, averaged over 2 x 2 blocks: the stand-in for MNIST), "iris", "wine",
        "breast cancer" (standardised): shipped with scikit-learn. "mnist" (4 x 4 blocks), "heart
        disease" (complete rows, categories as indicators, numbers standardised, classes of two rows
        or more balanced by synthetic minority oversampling, 4000 draws) and "coupon" (the same
        without balancing; the column "car", which is missing in nearly every row, is dropped): the
        source's own.
    path : path, optional
        Local file of "heart disease" (processed.cleveland.data), "coupon"
        (in-vehicle-coupon-recommendation.csv) or "mnist" (mnist.npz, as Keras distributes it: images
        ``x_train``, ``x_test`` and labels ``y_train``, ``y_test``). By default the network is asked.
    seed : int or numpy.random.SeedSequence
        Of the oversampling and the draws.

    Returns
    -------
    ContextData

    Raises
    ------
    ValueError
        If the name is unknown, or the file is not what it should be.
    ModuleNotFoundError
        If scikit-learn is needed and not installed.
    ConnectionError
        If the data set is not on this machine and cannot be fetched; the message names what was tried
        and the file to get by other means.

    Notes
    -----
    The source counts 120 features of "coupon" and does not say of which columns. Categories are here
    the columns with an entry that is no number. Fetching "mnist" is slow and takes much memory where
    pandas is not installed, which scikit-learn uses to read it.

    References
    ----------
    Appendix A, "Real-world dataset".
    """
    arguments.choice("name", name, (*_SHIPPED, *_FILES))
    rng = np.random.default_rng(as_seed_sequence(seed))
    if path is not None and name not in _FILES:
        raise ValueError(f"path = {path!r} for {name!r}; permitted: None, as it is no file")
    if name in _SHIPPED:
        found = getattr(_scikit_learn(name), _SHIPPED[name])()
        if name == "digits":
            return context_data(block_averages(found.images / 16, 2), found.target, name=name)
        labels = np.asarray(found.target_names)[found.target]
        return context_data(_standardised(found.data), labels, name=name)
    if name == "mnist":
        images, labels = _fetched_mnist() if path is None else _read_mnist(path)
        return context_data(block_averages(images / 255, 4), labels, name=name)
    rows = list(csv.reader(io.StringIO(_text(name, path))))
    return _heart_disease(rows, rng) if name == "heart disease" else _coupon(rows, rng)


def _scikit_learn(name: str):
    try:
        from sklearn import datasets  # not needed for anything else, and not always installed
    except ImportError:
        raise ModuleNotFoundError(
            f"data set {name!r} comes with or through scikit-learn, which is not installed. Install "
            f"scikit-learn, or hand arrays of your own to simlib.contextual.context_data(...)."
        ) from None
    return datasets


def _unreachable(name: str, where: str, error: Exception) -> ConnectionError:
    return ConnectionError(
        f"data set {name!r} is not on this machine and cannot be fetched from {where} "
        f"({type(error).__name__}: {error}). If there is no network, get {_FILES[name]} by other "
        f"means and call load_data({name!r}, path='.../{_FILES[name]}'). Arrays of your own go to "
        f"context_data(...)."
    )


def _fetched_mnist():
    """Return images, shape (n, 28, 28), and labels from OpenML or scikit-learn's copy."""
    fetch = _scikit_learn("mnist").fetch_openml
    # The faster parser, if it is there: by default scikit-learn fails without pandas.
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of every attempt that failed
            options = {"return_X_y": True, "as_frame": False, "parser": parser, "n_retries": 1}
            pixels, labels = fetch("mnist_784", version=1, **options)
    # A damaged answer is a ValueError (no JSON, a wrong checksum), a KeyError or an HTTPException.
    except (OSError, ValueError, KeyError, EOFError, http.client.HTTPException) as error:
        raise _unreachable("mnist", "OpenML", error) from None
    pixels = np.asarray(pixels, dtype=np.float64)
    if pixels.ndim != 2 or pixels.shape[1] != 784:
        raise ValueError(
            f"data set 'mnist': OpenML's table has shape {pixels.shape}; permitted: (n, 784)"
        )
    return pixels.reshape(-1, 28, 28), labels


def _read_mnist(path: Any):
    """Return images, shape (n, 28, 28), and labels from a file."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            images = np.concatenate([stored["x_train"], stored["x_test"]])
            labels = np.concatenate([stored["y_train"], stored["y_test"]])
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"path = {str(path)!r} cannot be read: {error}; permitted: an npz file with arrays "
            f"x_train, x_test, y_train and y_test"
        ) from None
    if images.ndim != 3 or images.shape[1:] != (28, 28):
        raise ValueError(
            f"path = {str(path)!r}: images have shape {images.shape}; permitted: (n, 28, 28)"
        )
    return images, labels


def _text(name: str, path: Any) -> str:
    """Return the text of a file of the UCI repository."""
    if path is not None:
        try:
            return Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"path = {str(path)!r} cannot be read: {error}") from None
    try:
        with urllib.request.urlopen(_ADDRESSES[name], timeout=30) as answer:
            return answer.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, http.client.HTTPException) as error:
        raise _unreachable(name, _ADDRESSES[name], error) from None


def _standardised(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract the mean of each column and divide by its standard deviation, if it has one."""
    spread = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _encoded(name: str, table: dict[str, Sequence[str]], categories) -> NDArray[np.float64]:
    """Indicators of the categories, and standardised numbers.

    Parameters
    ----------
    name : str
        Of the data set, for messages.
    table : dict
        Entries of each column.
    categories : container of str
        Columns that are categories.
    """
    columns = []
    for column, values in table.items():
        if column in categories:
            kinds = sorted(set(values))
            columns += [[float(value == kind) for value in values] for kind in kinds]
        else:
            columns.append(_standardised(_numbers(name, column, values)))
    return np.array(columns).T


def _numbers(name: str, column: str, values: Sequence[str]) -> NDArray[np.float64]:
    for value in values:
        if not _is_finite_number(value):
            raise ValueError(
                f"data set {name!r}: column {column!r} has an entry {value!r}; permitted: finite "
                f"numbers"
            )
    return np.array(values, dtype=np.float64)


def _is_finite_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _classes(name: str, column: str, values: Sequence[str], count: int) -> NDArray[np.int64]:
    numbers = _numbers(name, column, values)
    bad = np.flatnonzero(~np.isin(numbers, np.arange(count)))
    if bad.size:
        raise ValueError(
            f"data set {name!r}: column {column!r} has an entry {values[int(bad[0])]!r}; permitted: "
            f"integers from 0 to {count - 1}"
        )
    return numbers.astype(np.int64)


def _complete(name: str, rows, columns: int, missing: str):
    """Return the rows without missing values, after checking their length."""
    rows = [[cell.strip() for cell in row] for row in rows if row]
    for i, row in enumerate(rows):
        if len(row) != columns:
            raise ValueError(
                f"data set {name!r}: row {i} of the file has {len(row)} entries; permitted: {columns}"
            )
    complete = [row for row in rows if missing not in row]
    if not complete:
        raise ValueError(f"data set {name!r}: the file has no complete row")
    return complete


def _heart_disease(rows, rng) -> ContextData:
    name = "heart disease"
    complete = _complete(name, rows, len(_HEART) + 1, "?")
    *columns, target = zip(*complete, strict=True)
    table = dict(zip(_HEART, columns, strict=True))
    features = _encoded(name, table, {column for column in _HEART if column.endswith("*")})
    labels = _classes(name, "num", target, 5)
    features, labels = _oversampled(features, labels, rng)
    drawn = rng.integers(0, labels.size, _SAMPLES)
    return context_data(features[drawn], labels[drawn], name=name)


def _coupon(rows, rng) -> ContextData:
    name = "coupon"
    header, *rows = rows or [[]]
    if "Y" not in header:
        raise ValueError(f"data set {name!r}: the file's first row names no column Y")
    # Dropped before incomplete rows are.
    dropped = {i for i, column in enumerate(header) if column == _DROPPED}
    rows = [["-" if i in dropped else cell for i, cell in enumerate(row)] for row in rows]
    complete = _complete(name, rows, len(header), "")
    table = dict(zip(header, zip(*complete, strict=True), strict=True))
    table.pop(_DROPPED, None)
    labels = _classes(name, "Y", table.pop("Y"), 2)
    categories = {
        column for column, values in table.items() if not all(map(_is_finite_number, values))
    }
    drawn = rng.integers(0, labels.size, _SAMPLES)
    features = _encoded(name, table, categories)[drawn]
    return context_data(features, labels[drawn], name=name)


def _oversampled(table, labels, rng, neighbours: int = 5):
    """Fill up every class to the size of the largest with points between neighbours of one class.

    Synthetic minority oversampling (Chawla et al. 2002): a new point lies uniformly between a point of
    the class and one of its nearest neighbours in the class.
    """
    classes, counts = np.unique(labels, return_counts=True)
    tables, numbers = [table], [labels]
    for one, count in zip(classes, counts, strict=True):
        missing = counts.max() - count
        own = table[labels == one]
        if missing == 0 or count < 2:
            continue
        distances = ((own[:, None] - own[None]) ** 2).sum(axis=2)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, 1 : neighbours + 1]
        base = rng.integers(0, count, missing)
        other = nearest[base, rng.integers(0, nearest.shape[1], missing)]
        share = rng.random((missing, 1))
        tables.append(own[base] + share * (own[other] - own[base]))
        numbers.append(np.full(missing, one))
    return np.vstack(tables), np.concatenate(numbers)


def instance_from_data(
    data: ContextData,
    arrival_rate: float,
    *,
    departures: str = "label",
    slack: float | None = None,
    regularisation: float = 1.0,
    radius: float | None = None,
) -> Instance:
    """Return the instance with a server for each class and the rows of a data set as contexts.

    Parameters
    ----------
    data : ContextData
    arrival_rate : float
        In (0, 1).
    departures : {"label", "fitted"}
        How a class yields a departure, see the module's description: our choices, as the source does
        not say.
    slack : float, optional
        With "fitted": keep only the contexts for which some server has rate ``arrival_rate + slack``
        (Assumption 3.4). Not permitted with "label".
    regularisation : float
        Of the logistic regression of "fitted", above 0; "label" has no use for it.
    radius : float, optional
        S of the learners; by default the largest norm of a fitted parameter, and with "label" the norm
        for which kappa = 10.

    Returns
    -------
    Instance
        Every row with the same probability.

    Raises
    ------
    ValueError
        If an argument is out of range, the regularisation is too small for the regression to be
        solved, or no context satisfies Assumption 3.4.
    """
    if not isinstance(data, ContextData):
        raise ValueError(f"data = {data!r}; permitted: ContextData, made by context_data(...)")
    arguments.choice("departures", departures, ("label", "fitted"))
    arrival_rate = arguments.probability_open("arrival_rate", arrival_rate)
    ridge = arguments.positive_real("regularisation", regularisation)
    k = len(data.classes)
    if departures == "label":
        if slack is not None:
            raise ValueError(
                f"slack = {slack!r}; permitted with departures = 'label': None, since the rates are "
                f"not logistic"
            )
        n, d = data.contexts.shape
        if radius is None:
            radius = radius_of_kappa(10.0)
        return Instance(
            arrival_rate,
            None,
            np.zeros((k, d)),
            arguments.positive_real("radius", radius),
            data.contexts,
            np.full(n, 1.0 / n),
            np.ascontiguousarray(np.eye(k)[data.labels]),
        )
    parameters = np.array([_regression(data.contexts, data.labels == j, ridge) for j in range(k)])
    contexts = data.contexts
    if slack is not None:
        slack = arguments.positive_real("slack", slack)
        best = service_rates(contexts, parameters).max(axis=1)
        contexts = contexts[best >= arrival_rate + slack]
        if contexts.size == 0:
            raise ValueError(
                f"slack = {slack!r}: the largest rate of a context at a server is {best.max():.6g}, "
                f"below arrival_rate + slack = {arrival_rate + slack:.6g}; no context satisfies "
                f"Assumption 3.4"
            )
    return finite_instance(parameters, contexts, arrival_rate, slack=slack, radius=radius)


def _regression(x, y, ridge) -> NDArray[np.float64]:
    """Regularised logistic regression by Newton's method with shortened steps (see estimation)."""
    theta = np.zeros(x.shape[1])
    for _ in range(200):
        mean = expit(x @ theta)
        hessian = (x * (mean * (1 - mean))[:, None]).T @ x + ridge * np.eye(theta.size)
        step = np.linalg.solve(hessian, x.T @ (mean - y) + ridge * theta)
        length = float(np.linalg.norm(step))
        theta -= step * (np.log1p(length) / length if length > 0.1 else 1.0)
        if length < 1e-9 * max(1.0, float(np.linalg.norm(theta))):
            return theta
    raise ValueError(
        f"regularisation = {ridge!r}: 200 Newton steps did not solve the logistic regression; "
        f"permitted: a larger regularisation"
    )
