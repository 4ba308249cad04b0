#!/usr/bin/env python3
"""Writes the rule files that benches/notes/checking.md measures.

Usage: python3 benches/hostile_files.py FOLDER

The files are large or hostile: they have thousands of parts of one kind. Each line of the note
names its file. `rulec check FILE`, `rulec plan FILE` and the other commands of the note then take
the time that the note has, on the machine that the note names.
"""

import sys
from pathlib import Path


def each(count, item, between="\n"):
    return between.join(item(index) for index in range(count))


def quoted(count, prefix):
    return each(count, lambda index: f'"{prefix}{index:06}"', ", ")


def route(condition):
    return f"route a when {condition} -> h\n"


def up_to(size, item):
    """Returns lines of `item` until they have `size` bytes."""
    lines, length, index = [], 0, 0
    while length < size:
        line = item(index)
        lines.append(line)
        length += len(line) + 1
        index += 1
    return "\n".join(lines) + "\n"


def many_words(count):
    words = quoted(count, "w")
    return (
        f"route many priority 2 when h contains any [{words}] ignoring case -> h\n"
        'route few when h contains "w000003" ignoring case or f ends_with any ["x.sys", "y.sys"] ignoring case -> h\n'
    )


def groups_of_groups():
    """Four levels of groups, each of which includes the level below it ten times."""
    levels = ['group g0 { a: string\nrequire "r": a != "x" }\n']
    for level in range(1, 5):
        includes = each(10, lambda _, level=level: f"include g{level - 1}")
        levels.append(f"group g{level} {{\n{includes}\n}}\n")
    kinds = each(300, lambda index: f"payload p{index} rank {index + 1} {{ include g4 }}")
    return "".join(levels) + kinds + "\n"


def types_of_types(count):
    fields = each(count, lambda index: f"a{index}: int", ", ")
    users = each(count, lambda index: f"b{index}: wide", ", ")
    return f"type wide = {{ {fields} }}\ninput {{ {users} }}\ndefault -> h\n"


def unless_chain(count):
    return route("n == 0" + each(count, lambda index: f" unless n == {index}", ""))


def two_lists(count):
    return (
        f"list one = [{quoted(count, 'a')}]\nlist two = [{quoted(count, 'b')}]\n"
        "route a when id in one -> h\nroute b when id in two -> h\n"
    )


def element_searches():
    words, networks = quoted(2000, "w"), each(2000, lambda i: f'"10.{i // 256}.{i % 256}.0/24"', ", ")
    return (
        f"route a when any x in l: x in [{words}] ignoring case -> h\n"
        f"route b when any x in l: x in_network any [{networks}] -> h\ndefault -> d\n"
    )


FILES = {
    "lists_two_20000.rules": lambda: two_lists(20_000),
    "lists_two_40000.rules": lambda: two_lists(40_000),
    "list_100000.rules": lambda: (
        f"list l = [{quoted(100_000, 'a')}]\nroute a when id in l -> h\nroute b when id starts_with any l -> h\n"
    ),
    **{f"words_{count}.rules": lambda count=count: many_words(count) for count in (500, 1000, 2000, 4000)},
    "unequal_250.rules": lambda: route(each(250, lambda i: f"x != {i}", " and ")),
    "unequal_500.rules": lambda: route(each(500, lambda i: f"x != {i}", " and ")),
    "none_500.rules": lambda: route("none { " + each(500, lambda i: f"x == {i}", "; ") + " }"),
    "unless_400.rules": lambda: unless_chain(400),
    "or_1000.rules": lambda: route(each(1000, lambda i: f"x == {i}", " or ")) + "route b when x == 3 -> h\n",
    "contains_500.rules": lambda: route(each(500, lambda i: f'x contains "w{i}."', " or ")),
    "regexes_250.rules": lambda: each(250, lambda i: f'route r{i} when x matches r"a{i}b+c" -> h') + "\n",
    "ranges_250.rules": lambda: each(
        250, lambda i: f"route r{i} when x in {i}..{i + 9} and y in {i}..{i + 5} -> h"
    )
    + "\n",
    "let_1500.rules": lambda: "let big = "
    + each(1500, lambda i: f'a{i} == "x"', " or ")
    + "\n"
    + each(1500, lambda i: f"route r{i} when big and n == {i} -> h")
    + "\n",
    "routes_1mb.rules": lambda: up_to(
        1_000_000, lambda i: f'route r{i} priority {i % 3} when kind == "k{i}" and n > {i} -> h{i % 7}'
    ),
    "or_20000.rules": lambda: route(each(20_000, lambda i: f'ctx.f == "v{i}"', " or ")),
    "or_fields_20000.rules": lambda: route(each(20_000, lambda i: f'ctx.f{i} == "v{i}"', " or ")),
    "numbers_20000.rules": lambda: route("x in [" + each(20_000, str, ", ") + "]"),
    "names_8000.rules": lambda: each(8000, lambda i: f'route r{i} when ctx.field_number_{i} == "x" -> h') + "\n",
    "names_1mb.rules": lambda: up_to(1_000_000, lambda i: f'route r{i} when ctx.field_number_{i} == "x" -> h'),
    "lengths_4000.rules": lambda: each(
        4000, lambda i: f'route r{i} when text contains "w{i}" and len(text) > {i} -> h'
    )
    + "\n",
    "groups.rules": groups_of_groups,
    "types_700.rules": lambda: types_of_types(700),
    "choices_20000.rules": lambda: each(
        20_000, lambda i: f"choice c{i} {{ default branch a  branch b {{ n == {i} }} }}"
    )
    + "\n",
    "elements.rules": element_searches,
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text())
    # The message of `elements.rules`: a list of 100,000 addresses that are in neither list.
    elements = each(100_000, lambda i: f'"172.{i // 65536}.{i // 256 % 256}.{i % 256}"', ",")
    (folder / "elements.jsonl").write_text(f'{{"l":[{elements}]}}\n')


if __name__ == "__main__":
    main()
