"""Data sets as contexts: preparation as the source's, instances, and what happens without a network."""

import hashlib
import itertools
import json
import socket
import sys
import threading
import types
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from simlib.contextual import (
    block_averages,
    context_data,
    datasets,
    draw_jobs,
    greedy,
    instance_from_data,
    load_data,
    optimal,
    simulate,
    simulate_paired,
    summarise,
    uniform,
)


def mu(z):
    return 1 / (1 + np.exp(-z))


def clusters(seed=1, n=60):
    """Three classes around three directions, as a stand-in for a data set."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(["a", "b", "c"], n)
    centres = np.repeat(np.array([[3.0, 0, 0], [0, 3, 0], [0, 0, 3]]), n, axis=0)
    return centres + rng.normal(size=centres.shape), labels


def from_clusters(**options):
    return instance_from_data(context_data(*clusters()), 0.35, **options)


# Tables ----------------------------------------------------------------------------------------------


def test_contexts_of_a_table():
    features, labels = clusters()
    data = context_data(features, labels, name="clusters")
    assert np.linalg.norm(data.contexts, axis=1).max() == pytest.approx(1, rel=1e-11)
    assert np.linalg.norm(data.contexts, axis=1).max() <= 1
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [0] * 60 + [1] * 60 + [2] * 60
    ratio = features / data.contexts
    assert ratio == pytest.approx(np.full_like(ratio, ratio[0, 0]))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_no_size_of_features_is_lost(size):
    data = context_data([[3 * size, 4 * size], [0.0, size]], [1, 2])
    assert data.contexts.ravel() == pytest.approx([0.6, 0.8, 0.0, 0.2])


def test_instances_of_a_table():
    data = context_data(*clusters())
    literal = instance_from_data(data, 0.35)
    found = summarise(literal)
    assert (found.best_rate, found.random_pair_rate) == (1.0, pytest.approx(1 / 3))
    jobs = draw_jobs(literal, 200, 1)
    assert set(jobs.rates.ravel().tolist()) == {0.0, 1.0}
    own = jobs.rates.argmax(axis=1)
    rows = [np.flatnonzero((data.contexts == x).all(axis=1))[0] for x in jobs.contexts]
    assert (data.labels[rows] == own).all()
    # A uniform server succeeds a third of the time; whoever learns the classes does better.
    runs = simulate_paired(literal, [uniform(), greedy()], 3000, 1)
    assert runs.queue[0, -1] > 20
    assert runs.queue[1, -1] < 15
    assert runs.benchmark.queue[-1] <= 1

    fitted = instance_from_data(data, 0.3, departures="fitted", slack=0.35, regularisation=0.1)
    assert fitted.radius == pytest.approx(np.linalg.norm(fitted.parameters, axis=1).max())
    assert 20 < fitted.contexts.shape[0] < 180
    assert summarise(fitted).least_best_rate >= 0.65
    for k in range(3):
        mean = mu(data.contexts @ fitted.parameters[k])
        gradient = data.contexts.T @ (mean - (data.labels == k)) + 0.1 * fitted.parameters[k]
        assert abs(gradient).max() < 1e-9


def test_a_hardly_regularised_regression_is_solved_or_refused():
    """Two separable classes: the parameter grows without bound as the regularisation vanishes."""
    data = context_data([[1.0], [-1.0]], ["a", "b"])
    norms = [
        instance_from_data(data, 0.5, departures="fitted", regularisation=ridge).radius
        for ridge in (1e-2, 1e-6, 1e-10)
    ]
    for ridge, norm in zip((1e-2, 1e-6, 1e-10), norms, strict=True):
        assert 2 * (1 - mu(norm)) == pytest.approx(ridge * norm, rel=1e-6)
    with pytest.raises(ValueError, match="regularisation = 1e-300: 200 Newton steps"):
        instance_from_data(data, 0.5, departures="fitted", regularisation=1e-300)


def test_contexts_of_ones_own_need_logistic_rates():
    with pytest.raises(ValueError, match="contexts and start cannot be given"):
        simulate(from_clusters(), greedy(), 10, 1, contexts=[[0.1, 0, 0]] * 10)


def test_block_averages():
    images = np.arange(2 * 4 * 4).reshape(2, 4, 4)
    assert block_averages(images, 2)[0].tolist() == [2.5, 4.5, 10.5, 12.5]
    with pytest.raises(ValueError, match="block = 3 for images of shape"):
        block_averages(images, 3)


def test_runs_of_the_evidence():
    """What the claims about real data judge, against a run of each policy by itself."""
    from checks.contextual.evidence.real_data import DATA, POINTS, one_run, policies

    rate, _ = DATA["iris"]
    instance = instance_from_data(load_data("iris"), rate)
    horizon, made = 2 * POINTS, policies(2 * POINTS)
    chosen = [made[name] for name in ("opt_small", "eps", "stale")]
    assert chosen[1].settings.exploration_rounds == horizon // 10
    found = one_run(7, instance=instance, policies=chosen, horizon=horizon)
    for i, one in enumerate([*chosen, optimal()]):
        run = simulate(instance, one, horizon, 7, checkpoints=np.arange(1, horizon + 1))
        assert found["queue"][i].tolist() == run.queue[1::2].tolist()
        assert found["mean"][i] == run.queue.mean()
        if i < len(chosen):
            assert found["busiest"][i] == run.attempts.max() / run.attempts.sum()


# Shipped with scikit-learn ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [
        ("digits", 1797, 16, tuple("0123456789")),
        ("iris", 150, 4, ("setosa", "versicolor", "virginica")),
        ("wine", 178, 13, ("class_0", "class_1", "class_2")),
        ("breast cancer", 569, 30, ("benign", "malignant")),
    ],
)
def test_shipped_data(name, rows, features, classes):
    from sklearn import datasets as shipped

    data = load_data(name)
    assert data.name == name
    assert data.contexts.shape == (rows, features)
    assert data.classes == classes
    norms = np.linalg.norm(data.contexts, axis=1)
    assert norms.max() == pytest.approx(1, rel=1e-11)
    raw = getattr(shipped, "load_" + name.replace(" ", "_"))()
    names = np.asarray(raw.target_names).astype(str)
    assert [classes[one] for one in data.labels] == names[raw.target].tolist()
    if name == "digits":  # four pixels are one feature
        pixels = raw.images[0]
        ratio = data.contexts[0, 1] / data.contexts[0, 2]
        assert ratio == pytest.approx(pixels[:2, 2:4].sum() / pixels[:2, 4:6].sum())
    else:  # standardised, and then scaled as a whole
        assert data.contexts.mean(axis=0) == pytest.approx(np.zeros(features), abs=1e-12)
        spread = data.contexts.std(axis=0)
        assert spread == pytest.approx(np.full(features, spread[0]))


@pytest.mark.parametrize("name", ["digits", "wine", "mnist"])
def test_without_scikit_learn_the_message_says_so(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ModuleNotFoundError, match=f"'{name}' comes .* scikit-learn, which is not"):
        load_data(name)


# The source's own: files -----------------------------------------------------------------------------

HEART = """63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0
67.0,1.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,3.0,3.0,2
67.0,1.0,4.0,120.0,229.0,0.0,2.0,129.0,1.0,2.6,2.0,2.0,7.0,1
37.0,1.0,3.0,130.0,250.0,0.0,0.0,187.0,0.0,3.5,3.0,0.0,3.0,0
41.0,0.0,2.0,130.0,204.0,0.0,2.0,172.0,0.0,1.4,1.0,?,3.0,0
56.0,1.0,2.0,120.0,236.0,0.0,0.0,178.0,0.0,0.8,1.0,0.0,3.0,0
62.0,0.0,4.0,140.0,268.0,0.0,2.0,160.0,0.0,3.6,3.0,2.0,3.0,1
"""
COUPON = """destination,temperature,car,age,Y
Home,55,,21,1
Work,80,Scooter,,0
Work,80,,50plus,0
Home,30,,21,1
"""


def test_heart_disease(tmp_path):
    """The format on its first rows."""
    file = tmp_path / "heart.csv"
    file.write_text(HEART)
    data = load_data("heart disease", path=file)
    # Six numbers; of the seven categories 2, 4, 2, 2, 2, 3 and 3 values occur in complete rows.
    assert data.contexts.shape == (4000, 24)
    assert data.classes == ("0", "1", "2")
    # Two classes are filled up to three rows, the third has one row and cannot be.
    shares = np.bincount(data.labels) / 4000
    assert shares == pytest.approx([3 / 7, 3 / 7, 1 / 7], abs=0.04)
    points = np.unique(data.contexts[data.labels == 1], axis=0)
    assert len(points) == 3
    # The new one lies between the two that there were.
    sides = sorted(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))
    assert sides[0] + sides[1] == pytest.approx(sides[2])
    assert load_data("heart disease", path=file).contexts.tolist() == data.contexts.tolist()
    assert load_data("heart disease", path=file, seed=1).labels.tolist() != data.labels.tolist()


def test_oversampling_balances_five_classes(tmp_path):
    """As many rows of each class as of the largest, each new one between two of its class."""
    rng = np.random.default_rng(1)
    counts = (160, 54, 35, 35, 13)

    def entry(column):
        return str(rng.integers(0, 2)) if column.endswith("*") else f"{rng.normal():.6f}"

    lines = [
        ",".join([*map(entry, datasets._HEART), str(label)])
        for label, count in enumerate(counts)
        for _ in range(count)
    ]
    file = tmp_path / "heart.csv"
    file.write_text("\n".join(lines))
    data = load_data("heart disease", path=file)
    assert len(data.classes) == 5
    assert np.bincount(data.labels) / 4000 == pytest.approx(np.full(5, 0.2), abs=0.03)
    # A category of a new row is a share, those of the 160 are 0 or 1.
    assert len(np.unique(data.contexts[data.labels == 0], axis=0)) <= 160
    assert 100 < len(np.unique(data.contexts[data.labels == 4], axis=0)) <= 160


def test_coupon(tmp_path):
    """The format on rows made up."""
    file = tmp_path / "coupon.csv"
    file.write_text("\ufeff" + COUPON, encoding="utf-8")
    data = load_data("coupon", path=file)
    # Home, Work, temperature, 21, 50plus; the row without an age is dropped, the column car too.
    assert data.contexts.shape == (4000, 5)
    assert len(np.unique(data.contexts, axis=0)) == 3
    assert data.classes == ("0", "1")
    file.write_text(COUPON.replace("car,", "").replace(",,21", ",21").replace(",,50", ",50"))
    with pytest.raises(ValueError, match="row 1 of the file has 5 entries; permitted: 4"):
        load_data("coupon", path=file)


def test_mnist_of_a_file(tmp_path):
    images = np.random.default_rng(1).integers(0, 256, (3, 28, 28)).astype(np.uint8)
    file = tmp_path / "mnist.npz"
    np.savez(file, x_train=images[:2], x_test=images[2:], y_train=[7, 3], y_test=[3])
    data = load_data("mnist", path=file)
    assert data.contexts.shape == (3, 49)
    assert data.classes == ("3", "7")
    assert data.labels.tolist() == [1, 0, 0]
    ratio = data.contexts[2, 8] / data.contexts[0, 0]
    assert ratio == pytest.approx(images[2, 4:8, 4:8].mean() / images[0, :4, :4].mean())
    np.savez(file, x_train=images[:2])
    with pytest.raises(ValueError, match=r"cannot be read: .*x_test.* permitted: an npz file"):
        load_data("mnist", path=file)
    np.savez(file, x_train=[[1]], x_test=[[1]], y_train=[1], y_test=[1])
    with pytest.raises(ValueError, match=r"images have shape \(2, 1\)"):
        load_data("mnist", path=file)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: load_data("letters"), "name = 'letters' is unknown; permitted: .*mnist"),
        (lambda p: load_data("digits", path=p), "path = .* for 'digits'"),
        (lambda p: load_data("coupon", path=p / "no"), "cannot be read"),
        (lambda p: load_data("mnist", path=p / "no"), "cannot be read"),
        (lambda p: load_data("mnist", path=p / "bad"), "cannot be read"),
        (lambda p: load_data("coupon", path=p / "bad"), "no column Y"),
        (lambda p: load_data("coupon", path=p / "empty"), "no column Y"),
        (lambda p: load_data("heart disease", path=p / "bad"), "row 0 .* 2 entries"),
        (lambda p: load_data("heart disease", path=p / "empty"), "no complete row"),
        (lambda p: load_data("heart disease", path=p / "word"), "column 'chol' .* 'high'"),
        (lambda p: load_data("heart disease", path=p / "nine"), "'num' .* '9'.* from 0 to 4"),
        (lambda p: load_data("coupon", path=p / "maybe"), "'Y' has an entry 'maybe'"),
        (lambda p: context_data([[1.0]], [1]), "labels are all 1"),
        (lambda p: context_data([[1.0], [np.nan]], [1, 2]), r"features\[1, 0\] = nan"),
        (lambda p: context_data([[1.0], [2.0]], [1]), r"shape \(2, 1\) and labels"),
        (lambda p: context_data([["a"]], [1]), "features are not numeric"),
        (lambda p: context_data([[0.0], [0.0]], [1, 2]), "all zero"),
        (
            lambda p: context_data([[1.0], [2.0]], np.array([1, "a"], dtype=object)),
            "labels are of mixed kinds",
        ),
        (lambda p: instance_from_data(3, 0.5), "data = 3"),
        (lambda p: from_clusters(departures="x"), "departures = 'x'"),
        (lambda p: from_clusters(slack=0.1), "slack = 0.1; .*'label'"),
        (lambda p: from_clusters(regularisation=0), "regularisation = 0"),
        (
            lambda p: from_clusters(departures="fitted", slack=0.64, regularisation=99),
            "no context satisfies Assumption 3.4",
        ),
    ],
)
def test_bad_data_are_named(call, message, tmp_path):
    (tmp_path / "bad").write_text("a,b\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "word").write_text(HEART.replace("233.0", "high"))
    (tmp_path / "nine").write_text(HEART.replace("6.0,0", "6.0,9"))
    (tmp_path / "maybe").write_text(COUPON.replace("50plus,0", "50plus,maybe"))
    with pytest.raises(ValueError, match=message):
        call(tmp_path)


# The source's own: network ---------------------------------------------------------------------------


def arff(rows=3):
    """A file as OpenML sends it, and the features that it announces; all pixels of a row are equal."""
    names = [f"pixel{i}" for i in range(1, 785)]
    lines = ["@RELATION mnist_784"]
    lines += [f"@ATTRIBUTE {name} real" for name in names]
    lines += ["@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}", "@DATA"]
    lines += [",".join(["51"] * 784 + [str(9 - i)]) for i in range(rows)]
    features = [{"name": name, "data_type": "numeric", "is_target": "false"} for name in names] + [
        {"name": "class", "data_type": "nominal", "is_target": "true"}
    ]
    for i, feature in enumerate(features):
        feature |= {"index": str(i), "is_ignore": "false", "is_row_identifier": "false"}
        feature["number_of_missing_values"] = "0"
    return "\n".join(lines).encode(), features


class Server(BaseHTTPRequestHandler):
    """Answers with what the test put into ``pages``: bytes, or a status."""

    def do_GET(self):
        page = self.server.pages.get(self.path, 404)
        if isinstance(page, int):
            self.send_error(page)
            return
        self.send_response(200)
        # More than is sent: the connection breaks off.
        self.send_header("Content-Length", str(len(page) + 9 * self.path.startswith("/short")))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server in the place of OpenML and of the UCI repository, nothing kept from other times."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as made:
        made.pages = {}
        made.root = f"http://127.0.0.1:{made.server_port}"
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        from sklearn.datasets import _openml

        for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            address = getattr(_openml, name).replace("https://www.openml.org", made.root)
            monkeypatch.setattr(_openml, name, address)
        for name in ("coupon", "heart disease"):
            monkeypatch.setitem(datasets._ADDRESSES, name, f"{made.root}/{name[0]}")
        monkeypatch.setattr("time.sleep", lambda seconds: None)  # between attempts
        yield made
        made.shutdown()


def serve_mnist(server):
    data, features = arff()
    api = "/api/v1/json/data"
    description = {
        "status": "active",
        "format": "ARFF",
        "version": "1",
        "name": "mnist_784",
        "url": server.root + "/mnist.arff",
        "md5_checksum": hashlib.md5(data).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": "3"}]
    pages = {
        f"{api}/list/data_name/mnist_784/limit/2/data_version/1": {
            "data": {"dataset": [{"did": 554}]}
        },
        f"{api}/554": {"data_set_description": description},
        f"{api}/features/554": {"data_features": {"feature": features}},
        f"{api}/qualities/554": {"data_qualities": {"quality": qualities}},
    }
    server.pages |= {path: json.dumps(page).encode() for path, page in pages.items()}
    server.pages["/mnist.arff"] = data


def test_mnist_of_openml(server):
    serve_mnist(server)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load_data("mnist")
    assert data.contexts == pytest.approx(np.full((3, 49), 1 / 7))
    assert data.classes == ("7", "8", "9")
    assert data.labels.tolist() == [2, 1, 0]
    # The second time nobody is asked.
    server.pages.clear()
    assert load_data("mnist").labels.tolist() == [2, 1, 0]


@pytest.mark.parametrize("damage", ["/mnist.arff", "/api/v1/json/data/554"])
@pytest.mark.parametrize("page", [b"<html>log in first</html>", 404, 500])
def test_what_is_not_mnist_is_said_to_be_unreachable(server, damage, page):
    serve_mnist(server)
    server.pages[damage] = page
    with pytest.raises(ConnectionError, match=r"'mnist' .* from OpenML .*path='.../mnist.npz'"):
        load_data("mnist")


def test_files_of_the_repository(server):
    server.pages = {"/h": HEART.encode(), "/c": COUPON.encode()}
    assert load_data("heart disease").contexts.shape == (4000, 24)
    assert load_data("coupon").contexts.shape == (4000, 5)


@pytest.mark.parametrize(
    ("path", "page", "reason"),
    [
        ("/c", 404, "HTTP Error 404"),
        ("/c", b"\xff\xfe", "can't decode"),
        ("/short", COUPON.encode(), "9 more expected"),
    ],
)
def test_a_bad_answer_is_named(server, monkeypatch, path, page, reason):
    monkeypatch.setitem(datasets._ADDRESSES, "coupon", server.root + path)
    server.pages[path] = page
    with pytest.raises(ConnectionError, match=rf"'coupon' .* from {server.root}{path} .*{reason}"):
        load_data("coupon")


@pytest.mark.parametrize(
    ("name", "tried", "file"),
    [
        ("mnist", "OpenML", "mnist.npz"),
        ("heart disease", "https://archive.ics.uci.edu/.*", "processed.cleveland.data"),
        ("coupon", "https://archive.ics.uci.edu/.*", "in-vehicle-coupon-recommendation.csv"),
    ],
)
def test_without_a_network_the_message_says_what_to_do(name, tried, file, monkeypatch, tmp_path):
    """Which data set, what was tried, and how to give a file; and no warnings besides."""

    def offline(*arguments, **options):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", offline)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConnectionError) as found:
            load_data(name)
    assert found.match(
        rf"data set '{name}' is not on this machine and cannot be fetched from {tried} "
    )
    assert found.match("Name or service not known")
    assert found.match(rf"load_data\('{name}', path='.../{file}'\)")


@pytest.mark.parametrize("pandas", [True, False])
def test_mnist_needs_no_pandas(pandas, monkeypatch):
    """By default scikit-learn reads a table with pandas, and fails where that is not installed."""
    asked = {}

    def fetch_openml(name, **options):
        asked.update(options, name=name)
        return np.full((2, 784), 255.0), np.array(["7", "3"])

    stand_in = types.SimpleNamespace(fetch_openml=fetch_openml)
    monkeypatch.setitem(sys.modules, "sklearn", types.SimpleNamespace(datasets=stand_in))
    found = types.SimpleNamespace() if pandas else None
    monkeypatch.setattr(datasets.importlib.util, "find_spec", lambda name: found)
    assert load_data("mnist").labels.tolist() == [1, 0]
    assert asked["name"] == "mnist_784"
    assert asked["parser"] == ("pandas" if pandas else "liac-arff")
