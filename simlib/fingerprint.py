"""Digests of values and of code, by which stored results are recognised.

Two functions that compute different numbers should have different digests, and one function the
same digest in every process and session. Code counts as byte code: the source on disk may have
been edited since it was imported.
"""

import dataclasses
import dis
import enum
import functools
import hashlib
import pickle
import sys
import sysconfig
import types
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence

__all__ = ["fingerprint", "is_installed", "plain_function", "references"]


_ON_THE_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_LOADS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_LOADS_ENCLOSED = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_LOADS_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_BETWEEN = {"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"}


def fingerprint(value):
    """Return a digest of a value that is equal in every process and changes with the value.

    Functions and classes count with their code, their defaults, the variables they enclose and,
    unless they are part of simlib or of an installed package, the global values, the functions and
    the attributes of modules that they refer to; a function compiled by Numba counts as its Python
    source. Line numbers and file names don't count. A module that is not installed counts with its
    file.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, containers and dataclasses of them, functions, classes; anything
        else by its class and its pickle.

    Returns
    -------
    str
        32 hexadecimal digits.

    Raises
    ------
    ValueError
        If the value contains something that cannot be pickled.
    """
    digest = hashlib.sha256()
    _feed(digest, value, {})
    return digest.hexdigest()[:32]


def _feed(digest, value, seen):
    def put(kind, *parts):
        for part in (kind, *parts):
            data = part if isinstance(part, bytes) else str(part).encode()
            digest.update(len(data).to_bytes(8, "little") + data)

    def put_all(kind, values):
        values = list(values)
        put(kind, len(values))
        for item in values:
            _feed(digest, item, seen)

    value = plain_function(value)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | Fraction):
        put(type(value).__name__, repr(value))
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        put("array", value.dtype.str, value.dtype.descr, value.shape, value.tobytes())
    elif isinstance(value, np.generic):
        put("scalar", value.dtype.str, value.tobytes())
    elif isinstance(value, SeedSequence):
        put_all("seed", [_plain_integers(value.entropy), value.spawn_key, value.pool_size])
    elif isinstance(value, types.ModuleType):
        _feed_module(value, put)
    elif isinstance(value, types.CodeType):
        put("code", value.co_code)
        put_all("constants", value.co_consts)
        put_all("names", [value.co_names, value.co_varnames, value.co_freevars])
    elif isinstance(value, types.FunctionType | type):
        if id(value) in seen:  # functions may refer to each other
            put("again", seen[id(value)])
        else:
            seen[id(value)] = len(seen)
            feed = _feed_class if isinstance(value, type) else _feed_function
            feed(value, put, put_all)
    elif isinstance(value, np.ndarray):
        put_all("array of objects", [value.shape, *value.ravel().tolist()])
    elif isinstance(value, list | tuple):
        put_all(type(value).__name__, value)
    elif isinstance(value, set | frozenset):
        put_all("set", sorted(fingerprint(item) for item in value))
    elif isinstance(value, Mapping):
        items = sorted((fingerprint(key), key) for key in value)
        put_all("mapping", [(key, value[key]) for _, key in items])
    elif isinstance(value, staticmethod | classmethod):
        put_all(type(value).__name__, [value.__func__])
    elif isinstance(value, property):
        put_all("property", [value.fget, value.fset, value.fdel])
    elif isinstance(value, functools.cached_property):
        put_all("cached property", [value.func])
    elif isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        put("descriptor", value.__name__)
    elif isinstance(value, types.MethodType):
        put_all("method", [value.__func__, value.__self__])
    elif isinstance(value, functools.partial):
        put_all("partial", [value.func, value.args, value.keywords])
    elif dataclasses.is_dataclass(value):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        put_all("dataclass", [type(value), *fields])
    else:
        try:
            pickled = pickle.dumps(value, protocol=5)
        except Exception:
            raise ValueError(
                f"value = {value!r} cannot be identified; permitted: what can be pickled"
            ) from None
        put("pickle", pickled)
        _feed(digest, type(value), seen)


def _feed_module(module, put):
    """Feed a module: its name and, unless it is installed, its file or at least its names."""
    put("module", module.__name__)
    if is_installed(module.__name__):
        return
    try:
        put("file", Path(module.__file__).read_bytes())
    except (AttributeError, TypeError, OSError):
        put("names", *sorted(name for name in vars(module) if not name.startswith("_")))


def _feed_function(function, put, put_all):
    """Feed a function: its name, what it encloses, and its code unless it is installed."""
    # A decorator may have copied __module__ from another function; the globals are its own.
    module = function.__globals__.get("__name__")
    put_all("function", [function.__qualname__, function.__defaults__, function.__kwdefaults__])
    if is_installed(module):
        put("module", module)
        put_all("enclosed", sorted(_enclosed(function).items(), key=lambda pair: pair[0]))
    else:
        found = references(function)
        put("body")
        put_all("code", [function.__code__])
        for path, value in sorted(found.items(), key=lambda pair: pair[0]):
            owner = found.get(path.rpartition(".")[0])
            if owner is None or not is_installed(owner.__name__):
                put_all("reference", [path, value])


def _feed_class(cls, put, put_all):
    """Feed a class: its name and, unless it is installed, its bases and everything in it."""
    put("class", cls.__module__, cls.__qualname__)
    # A class executed in a bare namespace says that it is a builtin; those are not on the heap.
    executed = cls.__module__ == "builtins" and cls.__flags__ & _ON_THE_HEAP
    if is_installed(cls.__module__) and not executed:
        return
    code = types.FunctionType | staticmethod | classmethod | property
    members = {
        name: item
        for name, item in vars(cls).items()
        if isinstance(plain_function(item), code)
        or not (name.startswith("__") and name.endswith("__"))
    }
    members.pop("_abc_impl", None)
    if isinstance(cls, enum.EnumMeta):
        members = {name: item for name, item in members.items() if isinstance(item, code)}
        members |= {f"member {item.name}": item.value for item in cls}
    put_all("members", [*cls.__bases__, *sorted(members.items(), key=lambda pair: pair[0])])


def _plain_integers(entropy):
    return int(entropy) if np.ndim(entropy) == 0 else [int(word) for word in entropy]


def plain_function(value):
    """Return the Python function behind a function compiled by Numba, else the value itself."""
    if type(value).__module__.partition(".")[0] == "numba":
        return getattr(value, "py_func", None) or getattr(value, "__wrapped__", value)
    return value


def references(function):
    """Return what a function refers to outside itself, by name.

    Parameters
    ----------
    function : function

    Returns
    -------
    dict of str to object
        The variables that it encloses, the globals that its code reads, and the attributes that it
        reads from modules among them, such as ``"np.random.rand"`` with ``"np.random"`` and
        ``"np"``. Globals that do not exist (yet) are left out.
    """
    found = _enclosed(function)
    _walk(function.__code__, function.__globals__, dict(found), found)
    return found


def _walk(code, scope, enclosed, found):
    path = None  # what the instruction before has loaded, if it is of interest
    for instruction in dis.get_instructions(code):
        kind, name = instruction.opname, instruction.argval
        if kind in _BETWEEN:
            continue
        if kind in _LOADS_GLOBAL and name in scope:
            path, value = name, scope[name]
        elif kind in _LOADS_ENCLOSED and name in enclosed:
            path, value = name, enclosed[name]
        elif (
            kind in _LOADS_ATTRIBUTE
            and path is not None
            and isinstance(found[path], types.ModuleType)
            and hasattr(found[path], name)
        ):
            path, value = f"{path}.{name}", getattr(found[path], name)
        else:
            path = None
            continue
        found[path] = value
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _walk(constant, scope, enclosed, found)


def _enclosed(function):
    """Return the variables that a function encloses, by name; not those without a value yet."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


_INSTALLED = tuple(
    Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")
)


def is_installed(name):
    """Whether a module is part of simlib (which has a digest of its own), of Python or a package."""
    if not name or name == "__main__":
        return False
    if name.partition(".")[0] in ("simlib", *sys.builtin_module_names):
        return True
    path = getattr(sys.modules.get(name), "__file__", None)
    return path is not None and any(
        Path(path).resolve().is_relative_to(prefix) for prefix in _INSTALLED
    )
