from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from numba.core.registry import CPUDispatcher

import stream_maxloss
from stream_maxloss.machine.compiled import inner


def kernels_of(module: ModuleType) -> dict[str, CPUDispatcher]:
    return {name: thing for name, thing in vars(module).items() if isinstance(thing, CPUDispatcher)}


COMPILERS = {"compiled", "inner", "inner_fast"}
# What holds plain functions that are compiled later, into the kernels made of them.
HOLDERS = {"Rule", "Program", "replace"}


def compiled_names(tree: ast.AST) -> set[str]:
    """Return the names of functions, nested ones too, that a module hands to the compiler."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            decorators = {getattr(part, "id", None) for part in node.decorator_list}
            names |= {node.name} if decorators & COMPILERS else set()
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in COMPILERS | HOLDERS:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            names |= {part.id for value in given for part in ast.walk(value) if isinstance(part, ast.Name)}
    return names


def calls_from_python(module: ModuleType) -> Iterator[str]:
    """Yield the kernels that functions of a module call which are not compiled themselves."""
    tree = ast.parse(inspect.getsource(module))
    own = {name for name, kernel in kernels_of(module).items() if kernel.py_func.__module__ == module.__name__}
    own |= compiled_names(tree)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and node.name in own:
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func)


def test_python_never_calls_a_function_that_only_kernels_may_call() -> None:
    # Such a function has no code that takes Python's objects apart: the call would crash the process.
    wrong, seen = [], 0
    for found in pkgutil.walk_packages(stream_maxloss.__path__, "stream_maxloss."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name in calls_from_python(module):
            owner, _, last = name.rpartition(".")
            holder = getattr(module, owner, None) if owner else module
            kernel = vars(holder).get(last) if isinstance(holder, ModuleType) else None
            if isinstance(kernel, CPUDispatcher):
                seen += 1
                if kernel.targetoptions.get("no_cpython_wrapper"):
                    wrong.append(f"{found.name} calls {name}")
    assert wrong == []
    assert seen > 20  # the check sees the calls that there are
    assert inner(lambda: 0).targetoptions["no_cpython_wrapper"]
