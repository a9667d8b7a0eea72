#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Doxygen reads in place of a public header: its comments as documentation.

Usage: filter.py FILE. The headers have ordinary comments, which read well where they are. Here the first one
becomes the file's, one just above a declaration the declaration's, and one behind a member the member's.
Indented lines become code. Names of headers and of C functions and types become references, so that Doxygen
complains about one that leads nowhere. The namespace `v0`, which no caller writes, goes.
"""

import pathlib
import re
import sys

CODE_SPAN = re.compile(r"(`[^`]*`)")
HEADER = re.compile(r"\bpaes/(\w+\.hp*)\b")
C_NAME = re.compile(r"\bpaes_[a-z0-9_]+\b")
# A member or a declaration, followed by a comment.
BEHIND = re.compile(r"^(\s*[^/\s}#].*?[;,\w])\s+(?://|/\*) (?!NOLINT)(.*?)(?: \*/)?$")


def escaped(text):
    """Running text in which Doxygen sees nothing but code spans and references."""
    parts = CODE_SPAN.split(text)
    for i in range(0, len(parts), 2):
        part = re.sub(r"([\\@<>#&%])", r"\\\1", parts[i])
        part = HEADER.sub(r'@ref \1 "paes/\1"', part)
        parts[i] = C_NAME.sub(r'@ref \g<0> "\g<0>"', part)
    return "".join(parts)


def documentation(lines):
    """The lines of a comment, without its marks, in Doxygen's form. Indented lines after an empty one are code."""
    text, result, code = [], [], False

    def end_of_text():
        if text:
            result.extend(escaped("\n".join(text)).split("\n"))
            text.clear()

    for i, line in enumerate(lines):
        if code and line.strip() and not line.startswith("  "):
            result.append("@endcode")
            code = False
        elif not code and line.startswith("  ") and (i == 0 or not lines[i - 1].strip()):
            end_of_text()
            result.append("@code{.cpp}")
            code = True
        (result if code else text).append(line)
    end_of_text()
    return result + (["@endcode"] if code else [])


def comment_at(lines, first):
    """The end of the comment that begins in this line and shares its lines with nothing, and its lines without marks."""
    end = first
    if lines[first].lstrip().startswith("//"):
        while end < len(lines) and lines[end].lstrip().startswith("//"):
            end += 1
        return end, [re.sub(r"^\s*// ?", "", line) for line in lines[first:end]]
    if lines[first].lstrip().startswith("/*"):
        while "*/" not in lines[end]:
            end += 1
        inside = [re.sub(r"^\s*(?:/\*|\*(?!/))? ?", "", line) for line in lines[first : end + 1]]
        inside[-1] = inside[-1].removesuffix("*/").rstrip()
        return end + 1, inside
    return first, []


def is_declaration(line):
    return bool(re.match(r"\s*(#define|[^#}/\s])", line)) and not re.match(r"\s*(inline )?namespace\b", line)


def filtered(lines):
    """Yields the lines for Doxygen."""
    i, is_first = 0, True
    while i < len(lines):
        end, inside = comment_at(lines, i)
        if end > i:
            inside = [line for line in inside if not line.startswith("SPDX-License-Identifier:")]
            if not inside:
                i = end
                continue
            if is_first:
                yield "/// @file"
            if is_first or (end < len(lines) and is_declaration(lines[end])):
                yield from ("/// " + line for line in documentation(inside))
            # Nothing after it may count as a part of it.
            if is_first:
                yield ""
            is_first = False
            i = end
            continue
        behind = BEHIND.match(lines[i])
        if not re.match(r"inline namespace v0 \{|\}  // namespace v0", lines[i]):
            yield f"{behind[1]} ///< {escaped(behind[2])}" if behind else lines[i]
        i += 1


def main():
    print("\n".join(filtered(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())))


if __name__ == "__main__":
    main()
