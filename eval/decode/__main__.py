"""Print the tables: `python -m eval.decode [charsets] [languages] [html] [--misses N]`."""

from __future__ import annotations

import argparse
from importlib import import_module

from eval.decode.table import shown

TABLES = {"charsets": "Charsets", "languages": "Languages", "html": "HTML to text"}


def main() -> None:
    """Print the tables that are named, all without a name."""
    parser = argparse.ArgumentParser(prog="python -m eval.decode", description="Tables of the decode stage.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; default: all")
    parser.add_argument("--misses", type=int, default=0, help="show up to N misses for each line")
    given = parser.parse_args()
    for name in given.tables or TABLES:
        if name not in TABLES:
            parser.error(f"no table {name!r}; there are {', '.join(TABLES)}")
        lines = import_module(f"eval.decode.{name}").score()
        print(shown(TABLES[name], lines, misses=given.misses))


if __name__ == "__main__":
    main()
