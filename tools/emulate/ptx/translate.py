#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates device code into C++ that runs on the host: from the PTX that nvcc writes for a file of kernels.

Usage: translate.py FILE.ptx FOLDER [PARTS]; writes FOLDER/NAME_1.cpp to FOLDER/NAME_PARTS.cpp, which compile
side by side. They include lane.hpp, register their kernels and variables with the machine (machine.hpp), and
need nothing of CUDA.

A kernel becomes one function, which runs one thread of a grid. It returns where the thread has to wait for
others, at a barrier, a shuffle or the synchronisation of a warp, and goes on there when it is called again. The
registers that live across such a stop are kept in the lane meanwhile; liveness of registers says which they are.

Whatever this program or its table (instructions.py) does not know ends the translation with a line that names
the instruction.
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
from instructions import READ_SPACES, TYPES, WRITE_SPACES, bits_of, instructions

TABLE = instructions()
REGISTERS = {"pred": "bool", "b16": "b16", "b32": "b32", "b64": "b64"}
SPECIAL = {f"%{name}.{axis}": f"lane.{field}" if axis == "x" else ("0u" if name in ("tid", "ctaid") else "1u")
           for name, field in (("tid", "thread"), ("ntid", "threads"), ("ctaid", "block"), ("nctaid", "blocks"))
           for axis in "xyz"}
NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)$")
# What the lanes of a warp exchange, and the lane's function that does it.
SHUFFLES = {"shfl.sync.bfly.b32": "exchange", "shfl.sync.idx.b32": "take_from"}
LABEL = re.compile(r"(\$?[\w$]+):$")
VARIABLE = re.compile(r"\.(global|const|shared|local)\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\](?:\s*=\s*\{([\d, ]*)\})?;$")


class Unknown(Exception):
    """Something unknown to the translator: the line's number, and the line."""

    def __init__(self, number, what):
        super().__init__(f"{number}: {what}")


class Statement:
    """One instruction as C++, and what its registers' liveness depends on."""

    def __init__(self, number):
        self.number = number
        self.code = ""
        self.reads = set()
        self.writes = set()
        self.target = None     # the label that it may jump to
        self.falls = True      # whether the next statement may follow
        self.guarded = False   # whether a predicate may skip it
        self.stop = None  # the call that stops the lane; `code` is what follows when it continues


def split_operands(text):
    """"a, {b, c}, [d+4]" as three strings."""
    return [part.strip() for part in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,{\[])+", text)]


class Kernel:
    def __init__(self, module, name, parameters, attributes, lines):
        self.module = module
        self.name = name
        self.parameters = parameters  # name: (offset, bytes)
        threads = re.search(r"\.maxntid\s+(\d+)\s*(?:,\s*1\s*,\s*1)?\s*$", attributes, re.MULTILINE)
        self.most_threads = int(threads[1]) if threads else 1024
        self.shared = {}       # name: offset
        self.shared_bytes = 0  # of variables
        self.local = {}
        self.local_bytes = 0
        self.shared_unit = 4   # the smallest access to shared memory, in bytes
        self.used = set()      # registers
        self.labels = {}       # the number of the statement that follows
        self.statements = []
        for number, line in lines:
            self.translate_line(number, line)
        unknown = {s.target for s in self.statements if s.target} - set(self.labels)
        if unknown:
            raise Unknown(lines[0][0], f"no label {unknown.pop()}")

    # Operands.

    def register(self, name):
        """The C++ name of a register. Liveness uses it, too."""
        self.used.add(name[1:])
        return name[1:]

    @staticmethod
    def type_of_register(name):
        if name in ("SP", "SPL"):
            return "b64"
        return {"p": "bool", "rs": "b16", "r": "b32", "rd": "b64"}[re.match(r"[a-z]+", name)[0]]

    def is_register(self, text):
        return re.match(r"%(p|rs|r|rd)\d+$|%SPL?$", text) is not None

    def address_of(self, name):
        """The address of a variable, or None."""
        if name in self.module.variables:
            return f"lane.variables[{list(self.module.variables).index(name)}]"
        if name in self.shared:
            return f"lane.shared_address({self.shared[name]})"
        if name in self.module.extern_shared:
            return f"lane.shared_address({self.dynamic_offset()})"
        if name in self.local:
            return f"(local_base + {self.local[name]})"
        return None

    def dynamic_offset(self):
        return (self.shared_bytes + 15) // 16 * 16

    def source(self, text, kind, statement):
        """An operand that an instruction reads as a value of type `kind`."""
        wanted = TYPES.get(kind)
        if kind == "table":
            return text
        if self.is_register(text):
            name = self.register(text)
            statement.reads.add(name)
            return name if self.type_of_register(name) == wanted else f"static_cast<{wanted}>({name})"
        if text in SPECIAL:
            return SPECIAL[text]
        if NUMBER.match(text):
            value = int(text, 0)
            if kind == "pred":
                return "true" if value else "false"
            bits = bits_of(kind)
            value %= 1 << bits
            if kind[0] == "s" and value >= 1 << (bits - 1):
                return f"{wanted}{{{value - (1 << bits)}{'ll' if bits == 64 else ''}}}" if value != 1 << (bits - 1) \
                    else f"std::numeric_limits<{wanted}>::min()"
            return f"{value}u" if kind[0] != "s" and bits == 32 else f"{wanted}{{{value}{'u' if bits == 64 else ''}}}"
        address = self.address_of(text)
        if address is None:
            raise Unknown(statement.number, f"operand {text}")
        return f"static_cast<{wanted}>({address})"

    def assign(self, text, value, kind, statement):
        """Code that writes a value of the PTX type `kind` to the register `text`."""
        if not self.is_register(text):
            raise Unknown(statement.number, f"result {text}")
        name = self.register(text)
        statement.writes.add(name)
        into, type_of_value = self.type_of_register(name), TYPES[kind]
        if into == "bool":
            return f"{name} = {value};"
        # C++ arithmetic widens what is narrower than int.
        if bits_of(kind) < 32 or type_of_value != into:
            value = f"static_cast<{type_of_value}>({value})"
        if type_of_value != into:
            value = f"static_cast<{into}>({value})"
        return f"{name} = {value};"

    def address(self, text, statement):
        """The register or symbol and the offset in "[a+4]"."""
        match = re.match(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]$", text)
        if not match:
            raise Unknown(statement.number, f"address {text}")
        return match[1], int(match[2] or 0)

    # Statements.

    def translate_line(self, number, line):
        label = LABEL.match(line)
        if label:
            self.labels[label[1].replace("$", "")] = len(self.statements)
            return
        if not line.endswith(";"):
            raise Unknown(number, f"line {line}")
        if line.startswith(".pragma") or line.startswith(".reg"):
            return
        variable = VARIABLE.match(line)
        if variable:
            space, alignment, name, size = variable[1], int(variable[2]), variable[3], int(variable[4])
            if space == "shared":
                self.shared_bytes = (self.shared_bytes + alignment - 1) // alignment * alignment
                self.shared[name] = self.shared_bytes
                self.shared_bytes += size
            elif space == "local":
                self.local_bytes = (self.local_bytes + 15) // 16 * 16
                self.local[name] = self.local_bytes
                self.local_bytes += size
            else:
                raise Unknown(number, f"line {line}")
            return
        statement = Statement(number)
        guard = re.match(r"@(!?)(%p\d+)\s+", line)
        rest = " ".join(line[guard.end() if guard else 0:-1].split())
        opcode, _, operands = rest.partition(" ")
        self.translate(opcode, split_operands(operands), statement, rest)
        if guard:
            name = self.register(guard[2])
            if statement.stop:
                raise Unknown(number, f"a predicate before {opcode}")
            statement.reads.add(name)
            statement.guarded = True
            statement.falls = True
            statement.code = f"if ({guard[1]}{name}) {{ {statement.code} }}"
        self.statements.append(statement)

    def translate(self, opcode, operands, statement, text):
        if opcode in TABLE:
            row = TABLE[opcode]
            if opcode.startswith("mov.") and any("{" in operand for operand in operands):
                self.translate_vector_move(opcode, operands, statement, text)
            elif len(operands) != 1 + len(row.sources):
                raise Unknown(statement.number, f"instruction {text}")
            else:
                sources = [self.source(o, kind, statement) for o, kind in zip(operands[1:], row.sources)]
                statement.code = self.assign(operands[0], row.code.format(*sources), row.result, statement)
        elif opcode in ("bra", "bra.uni"):
            statement.target = operands[0].replace("$", "")
            statement.falls = False
            statement.code = f"goto {statement.target};"
        elif opcode in ("ret", "exit"):
            statement.falls = False
            statement.code = "return lane.finish();"
        elif opcode == "trap":
            statement.falls = False
            statement.code = f"lane.fail({statement.number}, \"trap\");"
        elif opcode.startswith("ld.param."):
            self.translate_parameter(opcode, operands, statement, text)
        elif opcode.startswith(("ld.", "st.")):
            self.translate_memory(opcode, operands, statement, text)
        elif opcode == "bar.sync" and operands == ["0"]:
            statement.stop = f"lane.wait_at_barrier({statement.number})"
        elif opcode == "bar.warp.sync" and len(operands) == 1:
            mask = self.source(operands[0], "b32", statement)
            statement.stop = f"lane.wait_for_warp({statement.number}, {mask})"
        elif opcode in SHUFFLES and len(operands) == 5:
            self.translate_shuffle(SHUFFLES[opcode], operands, statement)
        else:
            raise Unknown(statement.number, f"instruction {text}")

    def translate_vector_move(self, opcode, operands, statement, text):
        """Moves two halves from or to a word."""
        halves = [o for o in operands if o.startswith("{")][0].strip("{} ").split(",")
        halves = [half.strip() for half in halves]
        half = f"b{bits_of(opcode[4:]) // 2}"
        if len(halves) != 2 or opcode not in ("mov.b32", "mov.b64"):
            raise Unknown(statement.number, f"instruction {text}")
        if operands[0].startswith("{"):
            whole = self.source(operands[1], opcode[4:], statement)
            statement.code = " ".join([
                self.assign(halves[0], whole, half, statement),
                self.assign(halves[1], f"{whole} >> {bits_of(half)}", half, statement)])
        else:
            low, high = (self.source(text, half, statement) for text in halves)
            statement.code = self.assign(operands[0], f"join_halves({low}, {high})", opcode[4:], statement)

    def translate_shuffle(self, call, operands, statement):
        result, _, found = operands[0].partition("|")
        sources = [self.source(operand, "b32", statement) for operand in operands[1:]]
        statement.stop = f"lane.{call}({statement.number}, {', '.join(sources)})"
        statement.code = self.assign(result, "lane.exchanged", "b32", statement)
        if found:  # whether the other lane is in the warp; if not, the exchange has failed
            statement.code += " " + self.assign(found, "true", "pred", statement)

    @staticmethod
    def vector_of(opcode, place, operands):
        """The type of an access, and its registers."""
        parts = opcode.split(".")
        names = [name.strip() for name in operands[place].strip("{} ").split(",")]
        count = int(parts[-2][1]) if parts[-2] in ("v2", "v4") else 1
        return parts[-1], names if len(names) == count and parts[-1] in TYPES else None

    def translate_parameter(self, opcode, operands, statement, text):
        kind, names = self.vector_of(opcode, 0, operands)
        name, distance = self.address(operands[1], statement)
        size = bits_of(kind) // 8 if kind in TYPES else 0
        if names is None or name not in self.parameters:
            raise Unknown(statement.number, f"instruction {text}")
        offset, most = self.parameters[name]
        if distance < 0 or distance + size * len(names) > most or (offset + distance) % (size * len(names)) != 0:
            raise Unknown(statement.number, f"access beyond a parameter: {text}")
        statement.code = " ".join(
            self.assign(register, f"load<{TYPES[kind]}>(lane.parameters + {offset + distance + i * size})", kind, statement)
            for i, register in enumerate(names))

    def translate_memory(self, opcode, operands, statement, text):
        reads = opcode.startswith("ld.")
        kind, names = self.vector_of(opcode, 0 if reads else 1, operands)
        prefix = re.sub(r"(\.v[24])?\.\w+$", "", opcode)
        space = (READ_SPACES if reads else WRITE_SPACES).get(prefix)
        if space is None or names is None:
            raise Unknown(statement.number, f"instruction {text}")
        base, distance = self.address(operands[1 if reads else 0], statement)
        size = bits_of(kind) // 8
        if self.is_register(base) and self.type_of_register(base[1:]) == "b32":
            where = self.source(base, "b32", statement)
            where += f" + {distance % (1 << 32)}u" if distance else ""
        else:
            where = self.source(base, "b64", statement)
            where += f" + {distance % (1 << 64)}ull" if distance else ""
        count = len(names)
        if space == "shared":
            self.shared_unit = min(self.shared_unit, size)
        unit = ", unit" if space == "shared" else ""
        access = f"lane.{space}<{size * count}, Access::{'read' if reads else 'write'}{unit}>({where}, {statement.number})"
        code = [f"std::uint8_t* const at = {access};"]
        for i, name in enumerate(names):
            at = f"at + {i * size}" if i else "at"
            if reads:
                code.append(self.assign(name, f"load<{TYPES[kind]}>({at})", kind, statement))
            else:
                code.append(f"store<{TYPES[kind]}>({at}, {self.source(name, kind, statement)});")
        statement.code = "{ " + " ".join(code) + " }"

    # The function.

    def live_after_stops(self):
        """For each stop, by its number among statements: the registers that a lane needs when it goes on."""
        count = len(self.statements)
        live = [set() for _ in range(count + 1)]  # before each statement
        changed = True
        while changed:
            changed = False
            for i in range(count - 1, -1, -1):
                statement = self.statements[i]
                now = self.live_after(i, live)
                now = (now if statement.guarded else now - statement.writes) | statement.reads
                if now != live[i]:
                    live[i] = now
                    changed = True
        return {i: sorted(self.live_after(i, live) - s.writes)
                for i, s in enumerate(self.statements) if s.stop}

    def live_after(self, i, live):
        statement = self.statements[i]
        after = set(live[i + 1]) if statement.falls else set()
        if statement.target:
            after |= live[self.labels[statement.target]]
        return after

    def starts_of_blocks(self):
        """The numbers of the statements to which control may come from elsewhere."""
        starts = {0} | set(self.labels.values())
        starts |= {i + 1 for i, s in enumerate(self.statements) if not s.falls or s.target or s.stop}
        return sorted(start for start in starts if start < len(self.statements))

    def write(self, number):
        """The function with this number in its file, and its row."""
        kept = self.live_after_stops()
        stops = {i: place for place, i in enumerate(kept, 1)}
        starts = self.starts_of_blocks()
        labels = {}
        for label, i in self.labels.items():
            labels.setdefault(i, []).append(label)
        targets = {s.target for s in self.statements if s.target}
        out = [f"BlockOfCode blocks_{number}[] = {{"]
        for start, end in zip(starts, starts[1:] + [len(self.statements)]):
            out.append(f"    {{{self.statements[start].number}, {end - start}}},")
        out += ["};", "", f"Stop kernel_{number}(Lane& lane) {{",
                f"  [[maybe_unused]] constexpr unsigned unit = {self.shared_unit};"]
        read = set().union(*(statement.reads for statement in self.statements), *kept.values())
        for name in sorted(self.used):
            unused = "" if name in read else "[[maybe_unused]] "
            out.append(f"  {unused}{self.type_of_register(name)} {name}{{}};")
        if stops:
            out.append("  switch (lane.entry) {")
            out += [f"    case {place}: goto resume_{place};" for place in stops.values()]
            out += ["    default: break;", "  }"]
        for i, statement in enumerate(self.statements):
            out += [f"{label}:;" for label in labels.get(i, []) if label in targets]
            if i in starts:
                out.append(f"  blocks_{number}[{starts.index(i)}].ran = true;")
            if statement.stop:
                place = stops[i]
                out += [f"  lane.kept[{k}] = {name};" for k, name in enumerate(kept[i])]
                out += [f"  lane.entry = {place};", f"  return {statement.stop};", f"resume_{place}:;"]
                for k, name in enumerate(kept[i]):
                    kind = self.type_of_register(name)
                    value = f"lane.kept[{k}] != 0" if kind == "bool" else f"static_cast<{kind}>(lane.kept[{k}])"
                    out.append(f"  {name} = {value};")
            if statement.code:
                out.append("  " + statement.code)
        for label in labels.get(len(self.statements), []):
            out.append(f"{label}:;")
        if not self.statements or self.statements[-1].falls or len(self.statements) in labels:
            out.append("  return lane.finish();")
        out += ["}", ""]
        parameters = ", ".join(f"{{{offset}, {size}}}" for offset, size in self.parameters.values())
        most_kept = max((len(names) for names in kept.values()), default=0)
        out += [f"constexpr Parameter parameters_{number}[] = {{{parameters or '{0, 0}'}}};",
                f"const Registered<KernelCode> registered_{number}({{",
                f'    "{self.module.file}", "{self.name}", kernel_{number}, {self.most_threads},',
                f"    {self.shared_bytes}, {self.dynamic_offset()}, {most_kept}, {self.local_bytes},",
                f"    parameters_{number}, blocks_{number}}});", ""]
        return "\n".join(out)


class Module:
    """A file of PTX."""

    def __init__(self, path):
        self.file = path.name
        self.variables = {}  # name: (space, alignment, bytes, first bytes)
        self.extern_shared = set()
        self.kernels = []
        lines = [(n, re.sub(r"//.*", "", line).strip()) for n, line in enumerate(path.read_text().splitlines(), 1)]
        lines = [(n, line) for n, line in lines if line]
        at = 0
        while at < len(lines):
            at = self.read(lines, at)
        # Kernels may name variables that come later, so they are translated last.
        self.kernels = [Kernel(self, *parts) for parts in self.kernels]

    def read(self, lines, at):
        """Reads what begins at `at`, and returns where the next thing begins."""
        number, line = lines[at]
        if line.startswith((".version", ".target", ".address_size")):
            return at + 1
        extern = re.match(r"\.extern\s+\.shared\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\[\];$", line)
        if extern:
            self.extern_shared.add(extern[1])
            return at + 1
        variable = VARIABLE.match(line)
        if variable and variable[1] in ("global", "const"):
            values = variable[5].split(",") if variable[5] else []
            self.variables[variable[3]] = (variable[1], int(variable[2]), int(variable[4]), values)
            return at + 1
        entry = re.match(r"(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)\(\s*(\)?)$", line)
        if not entry:
            raise Unknown(number, f"line {line}")
        body = next(i for i in range(at, len(lines)) if lines[i][1] == "{")
        end = next(i for i in range(body, len(lines)) if lines[i][1] == "}")
        head = "\n".join(text for _, text in lines[at + 1:body])
        parameters, _, attributes = ("", "", head) if entry[2] else head.partition(")")
        self.kernels.append((entry[1], self.parameters_of(number, parameters), attributes, lines[body + 1:end]))
        return end + 1

    @staticmethod
    def parameters_of(number, text):
        """Each parameter's offset and length."""
        found, offset = {}, 0
        for declaration in filter(None, (part.strip() for part in text.split(","))):
            match = re.match(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?$", declaration)
            if not match or match[2] not in TYPES:
                raise Unknown(number, f"parameter {declaration}")
            size = int(match[4]) if match[4] else bits_of(match[2]) // 8
            alignment = int(match[1]) if match[1] else bits_of(match[2]) // 8
            offset = (offset + alignment - 1) // alignment * alignment
            found[match[3]] = (offset, size)
            offset += size
        return found

    def write_variables(self):
        out = []
        for number, (name, (space, alignment, size, values)) in enumerate(self.variables.items()):
            first = "nullptr"
            if values:
                out.append(f"constexpr std::uint8_t first_{number}[{size}] = {{{','.join(values)}}};")
                first = f"first_{number}"
            kind = "constant" if space == "const" else "global"
            out.append(f"const Registered<VariableCode> variable_{number}({{\n"
                       f'    "{self.file}", "{name}", Space::{kind}, {size}, {alignment}, {first}}});')
        return "\n".join(out) + "\n"

    def write(self, folder, name, parts):
        """Distributes the kernels, longest first, each to the part that has least so far."""
        sizes = [0] * parts
        texts = [[] for _ in range(parts)]
        texts[0].append(self.write_variables())
        for number, kernel in sorted(enumerate(self.kernels), key=lambda pair: -len(pair[1].statements)):
            part = sizes.index(min(sizes))
            sizes[part] += len(kernel.statements)
            texts[part].append(kernel.write(number))
        for part, text in enumerate(texts, 1):
            (folder / f"{name}_{part}.cpp").write_text(
                f"// {self.file} on the host, written by tools/emulate/ptx/translate.py.\n"
                '#include "emulate/ptx/lane.hpp"\n\nnamespace paes::ptx {\nnamespace {\n\n'
                + "\n".join(text) + "\n}  // namespace\n}  // namespace paes::ptx\n")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1])
    source, folder = map(pathlib.Path, sys.argv[1:3])
    try:
        module = Module(source)
        if not module.kernels:
            sys.exit(f"{source}: no kernel")
        module.write(folder, source.stem, int(sys.argv[3]) if len(sys.argv) == 4 else 1)
    except Unknown as unknown:
        sys.exit(f"{source}:{unknown}")


if __name__ == "__main__":
    main()
