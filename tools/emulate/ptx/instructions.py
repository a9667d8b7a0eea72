# SPDX-License-Identifier: Apache-2.0
"""What each instruction of PTX computes, as a C++ expression: the table that translate.py goes by.

The names, the types and the meaning are those of NVIDIA's "PTX ISA" (version 9.0, chapter 9). Only what
the compiler writes for our kernels is here. An instruction that is missing stops the translation, because
a guess would be tested instead of the device code.
"""

import dataclasses

# The C++ type (lane.hpp) of a value of each type of PTX.
TYPES = {f"{letter}{bits}": f"{'s' if letter == 's' else 'b'}{bits}" for letter in "bus" for bits in (8, 16, 32, 64)}
TYPES["pred"] = "bool"


@dataclasses.dataclass(frozen=True)
class Row:
    """`code` has {0}, {1}, ... for the sources, whose PTX types are `sources`; its value is of type `result`."""

    result: str
    sources: tuple
    code: str


def bits_of(kind):
    return int(kind[1:])


def instructions():
    """The table: by opcode with its modifiers, the rows."""
    rows = {}

    def add(opcode, result, sources, code):
        assert opcode not in rows, opcode
        rows[opcode] = Row(result, tuple(sources.split()), code)

    for bits in (16, 32, 64):
        b, u, s = f"b{bits}", f"u{bits}", f"s{bits}"
        add(f"mov.{b}", b, b, "{0}")
        add(f"mov.{u}", u, u, "{0}")
        add(f"not.{b}", b, b, "~{0}")
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
            add(f"{name}.{b}", b, f"{b} {b}", f"{{0}} {sign} {{1}}")
        # Bits above the result are cut off, so the sign does not matter.
        for kind in (u, s):
            add(f"add.{kind}", u, f"{u} {u}", "{0} + {1}")
            add(f"sub.{kind}", u, f"{u} {u}", "{0} - {1}")
            add(f"mul.lo.{kind}", u, f"{u} {u}", "low_product({0}, {1})")
        add(f"neg.{s}", u, u, "0 - {0}")
        # Distances beyond the width count as the width.
        add(f"shl.{b}", b, f"{b} u32", "shift_left({0}, {1})")
        add(f"shr.{u}", u, f"{u} u32", "shift_right({0}, {1})")
        add(f"shr.{s}", s, f"{s} u32", "shift_right({0}, {1})")
        for kind in (b, u, s):
            add(f"selp.{kind}", kind, f"{kind} {kind} pred", "{2} ? {0} : {1}")
        for kind in (b, u, s):
            comparisons = (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
            for name, sign in comparisons[:2] if kind == b else comparisons:
                add(f"setp.{name}.{kind}", "pred", f"{kind} {kind}", f"{{0}} {sign} {{1}}")
        for kind in (u, s):
            add(f"min.{kind}", kind, f"{kind} {kind}", "std::min({0}, {1})")
            add(f"max.{kind}", kind, f"{kind} {kind}", "std::max({0}, {1})")
        add(f"div.{u}", u, f"{u} {u}", "quotient({0}, {1})")
        add(f"rem.{u}", u, f"{u} {u}", "remainder({0}, {1})")
    for bits in (32, 64):
        b, u, s = f"b{bits}", f"u{bits}", f"s{bits}"
        add(f"bfi.{b}", b, f"{b} {b} u32 u32", "insert_bits({0}, {1}, {2}, {3})")
        add(f"bfe.{u}", u, f"{u} u32 u32", "extract_bits({0}, {1}, {2})")
        for kind in (u, s):
            add(f"mad.lo.{kind}", u, f"{u} {u} {u}", "low_product({0}, {1}) + {2}")
    for bits in (16, 32):
        for letter in "us":
            narrow, wide = f"{letter}{bits}", f"{letter}{2 * bits}"
            add(f"mul.wide.{narrow}", wide, f"{narrow} {narrow}", "wide_product({0}, {1})")
            add(f"mad.wide.{narrow}", f"u{2 * bits}", f"{narrow} {narrow} u{2 * bits}",
                f"static_cast<b{2 * bits}>(wide_product({{0}}, {{1}})) + {{2}}")
    add("mul.hi.u32", "u32", "u32 u32", "static_cast<b32>(wide_product({0}, {1}) >> 32)")
    for source in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for result in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            # The source says whose sign is extended; the result says what becomes of it in a wider register.
            add(f"cvt.{result}.{source}", result, source, f"static_cast<{TYPES[result]}>({{0}})")
    add("shf.l.wrap.b32", "b32", "b32 b32 u32", "funnel_left({0}, {1}, {2})")
    add("shf.r.wrap.b32", "b32", "b32 b32 u32", "funnel_right({0}, {1}, {2})")
    add("prmt.b32", "b32", "b32 b32 b32", "permute_bytes({0}, {1}, {2})")
    add("dp4a.u32.u32", "b32", "b32 b32 b32", "dot_bytes({0}, {1}, {2})")
    add("lop3.b32", "b32", "b32 b32 b32 table", "lut3<{3}>({0}, {1}, {2})")
    add("mov.pred", "pred", "pred", "{0}")
    add("not.pred", "pred", "pred", "!{0}")
    add("and.pred", "pred", "pred pred", "{0} && {1}")
    add("or.pred", "pred", "pred pred", "{0} || {1}")
    add("xor.pred", "pred", "pred pred", "{0} != {1}")
    # All memory has one range of addresses here.
    add("cvta.to.global.u64", "u64", "u64", "{0}")
    return rows


# The address spaces that instructions can name, and those that instructions can write to.
READ_SPACES = {"ld.global": "global", "ld.global.nc": "global", "ld.shared": "shared", "ld.const": "constant",
               "ld.local": "local"}
WRITE_SPACES = {"st.global": "global", "st.shared": "shared", "st.local": "local"}
