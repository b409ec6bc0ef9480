"""The import graph of the library: its size, its longest chain, its cycles, what is over a limit.

A module or a function may be over a limit if a comment says why: `# Over the limit: ...`, in the
module, or in the lines above the function or at its beginning. Ends with 1 if there is a cycle, if
the longest chain is too long, or if something is over a limit without such a comment.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = "decoupling"
# Modules that import one another in turn, from the first to the last, at most.
LONGEST_CHAIN = 14
# Lines of a module at most, all of them: more are not read in one go.
MODULE_LINES = 350
# Lines of a function at most, without docstring, comments and empty lines: what a screen shows.
FUNCTION_LINES = 45
# Parameters of a function at most, without self and cls.
PARAMETERS = 9
# Modules beside the packages at most, `__init__` and `__main__` among them.
ROOT_MODULES = 9
WHY = "# Over the limit: "


@dataclass(frozen=True)
class Function:
    """Size of a function and whether a comment says why it is over a limit."""

    name: str
    lines: int
    parameters: int
    excused: bool


@dataclass(frozen=True)
class Module:
    """A module and its text."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def source(self) -> list[str]:
        """Its lines."""
        return self.text.splitlines()

    @property
    def excused(self) -> bool:
        """Whether a comment at the margin says why it is long."""
        return any(
            line.startswith(WHY) and not self._above_a_function(number)
            for number, line in enumerate(self.source)
        )

    def _above_a_function(self, number: int) -> bool:
        while number < len(self.source) and self.source[number].startswith("#"):
            number += 1
        return number < len(self.source) and self.source[number].startswith(("def ", "@"))

    def functions(self) -> list[Function]:
        """Functions and methods in it."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(self._function(node))
        return found

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
        doc = node.body[0] if ast.get_docstring(node) is not None else None
        body = range(node.lineno, node.end_lineno + 1)
        left_out = set() if doc is None else set(range(doc.lineno, doc.end_lineno + 1))
        code = [
            number
            for number in body
            if number not in left_out
            and self.source[number - 1].strip()
            and not self.source[number - 1].strip().startswith("#")
        ]
        given = node.args
        names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        start = first - 1
        while start > 0 and self.source[start - 1].strip().startswith("#"):
            start -= 1
        near = [*range(start, first), *range(node.lineno, node.end_lineno)]
        excused = any(self.source[number].strip().startswith(WHY) for number in near)
        return Function(
            f"{self.name}.{node.name}",
            len(code),
            len([name for name in names if name not in ("self", "cls")]),
            excused,
        )


def modules() -> dict[str, Module]:
    """Read all modules, by name."""
    found = {}
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path, path.read_text(encoding="utf-8"))
    return found


def imports(module: Module, known: dict[str, Module], *, lazy: bool) -> set[str]:
    """Modules of the package that it imports when it is imported, or only on use."""
    found: set[str] = set()
    nodes: list[tuple[ast.AST, bool]] = [(node, False) for node in module.tree.body]
    while nodes:
        node, inside = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom) and inside == lazy:
            found |= _targets(node, known)
        deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        nodes += [(child, deeper) for child in ast.iter_child_nodes(node)]
    return found - {module.name}


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, Module]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names if alias.name in known}
    if node.module is None or node.module.split(".")[0] != PACKAGE:
        return set()
    found = set()
    for alias in node.names:
        deeper = f"{node.module}.{alias.name}"
        found.add(deeper if deeper in known else node.module)
    return found & set(known)


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle; empty if there are none."""
    try:
        list(TopologicalSorter(edges).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def longest_chain(edges: dict[str, set[str]]) -> list[str]:
    """The longest way along imports, for a graph without cycles."""
    best: dict[str, list[str]] = {}
    for name in TopologicalSorter(edges).static_order():
        chains = [best[other] for other in edges[name]]
        best[name] = [name, *max(chains, key=len, default=[])]
    return max(best.values(), key=len)


def names_twice(known: dict[str, Module]) -> dict[str, list[str]]:
    """Public functions and classes that are defined at the top of more than one module."""
    where = defaultdict(list)
    for module in known.values():
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(module.name)
    return {name: places for name, places in sorted(where.items()) if len(places) > 1}


def files_twice(known: dict[str, Module]) -> dict[str, list[str]]:
    """Names of modules that more than one package has."""
    where = defaultdict(list)
    for name in known:
        where[name.split(".")[-1]].append(name)
    return {name: places for name, places in sorted(where.items()) if len(places) > 1}


def over_the_limits(known: dict[str, Module]) -> tuple[list[str], list[str]]:
    """List what is over a limit: with a comment that says why, and without."""
    excused, bare = [], []
    for module in known.values():
        if len(module.source) > MODULE_LINES:
            text = f"{module.name}: {len(module.source)} lines"
            (excused if module.excused else bare).append(text)
        for function in module.functions():
            if function.lines > FUNCTION_LINES or function.parameters > PARAMETERS:
                text = f"{function.name}: {function.lines} lines, {function.parameters} parameters"
                (excused if function.excused else bare).append(text)
    root = [name for name in known if name.count(".") <= 1 and _is_file(known[name])]
    if len(root) > ROOT_MODULES:
        bare.append(f"{PACKAGE}: {len(root)} modules beside the packages")
    return excused, bare


def _is_file(module: Module) -> bool:
    return module.path.parent == SOURCE / PACKAGE


def main() -> int:
    """Print the graph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", action="store_true", help="a line for every module")
    parser.add_argument("--limits", action="store_true", help="nothing but what is over a limit")
    options = parser.parse_args()
    known = modules()
    if options.limits:
        return print_limits(known)
    edges = {name: imports(module, known, lazy=False) for name, module in known.items()}
    later = {name: imports(module, known, lazy=True) for name, module in known.items()}
    fan_in = Counter(other for targets in edges.values() for other in targets)
    lines = sum(len(module.source) for module in known.values())
    print(
        f"{len(known)} modules, {lines:,} lines, {sum(map(len, edges.values()))} imports, ", end=""
    )
    print(f"{sum(map(len, later.values()))} more on use")
    shown = known if options.modules else sorted(known, key=lambda n: -fan_in[n])[:10]
    print(f"\n{'lines':>5} {'in':>3} {'out':>3}  module")
    for name in shown:
        print(f"{len(known[name].source):5} {fan_in[name]:3} {len(edges[name]):3}  {name}")
    for title, found in (
        ("Names of two things", names_twice(known)),
        ("Files of one name", files_twice(known)),
    ):
        print(f"\n{title}: {len(found)}")
        for name, places in found.items():
            print(f"  {name}: {', '.join(p.removeprefix(PACKAGE + '.') for p in places)}")
    print()
    excused, _ = over_the_limits(known)
    print(f"Over a limit, and a comment says why: {len(excused)}")
    for text in excused:
        print(f"  {text}")
    return print_limits(known)


def print_limits(known: dict[str, Module]) -> int:
    """Print cycles, the longest chain and what is over a limit; 1 if something is wrong."""
    edges = {name: imports(module, known, lazy=False) for name, module in known.items()}
    circle = cycle(edges)
    print(f"Cycles: {' -> '.join(circle) if circle else 'none'}")
    chain = [] if circle else longest_chain(edges)
    print(f"Longest chain, {len(chain)} of at most {LONGEST_CHAIN} modules: {' -> '.join(chain)}")
    _, bare = over_the_limits(known)
    print(f"Over a limit without a word: {len(bare)}")
    for text in bare:
        print(f"  {text}")
    return int(bool(circle or bare or len(chain) > LONGEST_CHAIN))


if __name__ == "__main__":
    sys.exit(main())
