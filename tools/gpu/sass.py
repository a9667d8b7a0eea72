# SPDX-License-Identifier: Apache-2.0
"""The loop of a kernel in what nvdisasm prints, and the cheapest way through it.

A loop is found from the control flow alone: an edge back to a block that dominates its start (a natural loop).
The kernel's own loop is the one that stores blocks of text, so filling tables, or dividing 64-bit numbers, is not
taken for it. Where a kernel only reads text, the loads count instead. The way through the loop is the one with the
most such accesses, and among those the one with the fewest instructions. So it goes through whole blocks, and passes
by what happens rarely: the end of a text, or a new start of counters.
"""
import dataclasses
import re

LABEL = re.compile(r"^(\.L_x_\d+|\$?[\w$]+):\s*$")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);")
TARGET = re.compile(r"`\((\.L_x_\d+)\)")
# Instructions that leave a kernel, or jump where nothing here can follow.
ENDS = ("EXIT", "RET", "KILL")
UNKNOWN = ("BRX", "JMX", "JMP")
# Worth more than all accesses of a way.
PASSES_A_LOOP = 1_000_000


class SassError(Exception):
    """The text is not in a form that this module can read: "WHAT: WHY"."""


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    predicate: str  # without "@"; empty if there is none
    opcode: str  # with its modifiers, such as LDG.E.128
    operands: str

    @property
    def name(self):
        return self.opcode.split(".")[0]

    @property
    def bits(self):
        """The width of a memory access, in bits per lane."""
        for part in self.opcode.split("."):
            if part in ("8", "16", "64", "128"):
                return int(part)
            if part in ("U8", "S8", "U16", "S16"):
                return int(part[1:])
        return 32


@dataclasses.dataclass
class Block:
    instructions: list
    successors: list  # numbers of blocks


@dataclasses.dataclass
class Loop:
    head: int
    body: set  # numbers of blocks, including the head

    def contains(self, other):
        return self.head != other.head and other.body <= self.body


def functions(text):
    """The functions of a disassembled cubin: each mangled name, and its lines."""
    found = {}
    name = None
    for line in text.splitlines():
        if match := re.match(r"^\s*\.section\s+\.text\.([\w$]+),", line):
            name = match[1]
            found[name] = []
        elif re.match(r"^\s*\.section\s", line):
            name = None
        elif name is not None:
            found[name].append(line)
    return found


def blocks_of(lines):
    """The basic blocks of a function, the first one its entry."""
    items = []
    for line in lines:
        if match := LABEL.match(line):
            items.append(match[1])
        elif match := INSTRUCTION.match(line):
            items.append(Instruction(int(match[1], 16), match[2] or "", match[3], match[4].strip()))
        elif re.match(r"^\s+/\*[0-9a-f]{4,}\*/", line):
            raise SassError(f"sass: cannot read: {line.strip()}")
    blocks, labels, names = [], {}, []
    starts_new = True
    for item in items:
        if isinstance(item, str):
            names.append(item)
            starts_new = True
            continue
        if starts_new:
            blocks.append(Block([], []))
            labels.update(dict.fromkeys(names, len(blocks) - 1))
            names = []
        blocks[-1].instructions.append(item)
        starts_new = is_branch(item) or item.name in (*ENDS, *UNKNOWN)
    labels.update(dict.fromkeys(names, len(blocks)))
    for number, block in enumerate(blocks):
        last = block.instructions[-1]
        if last.name in UNKNOWN:
            raise SassError(f"sass: a jump to a computed address: {last.opcode}")
        conditional = is_conditional(last)
        if is_branch(last):
            target = TARGET.search(last.operands)
            if not target or labels.get(target[1], len(blocks)) >= len(blocks):
                raise SassError(f"sass: a branch to nowhere: {last.operands}")
            block.successors.append(labels[target[1]])
        if (not (is_branch(last) or last.name in ENDS) or conditional) and number + 1 < len(blocks):
            block.successors.append(number + 1)
    return blocks


def is_branch(instruction):
    """Before sm_90, ptxas also leaves loops by calls, which never return, to places in the same function."""
    return instruction.name == "BRA" or (instruction.name == "CALL" and TARGET.search(instruction.operands) is not None)


def is_conditional(instruction):
    """Whether control may also continue after a branch or an end: it has a predicate (before the name or as its first operand), or depends
    on how the warp has diverged."""
    if instruction.predicate and instruction.predicate not in ("PT", "UPT"):
        return True
    first = instruction.operands.split(",")[0].strip()
    return re.fullmatch(r"!?U?P\d", first) is not None or ".DIV" in instruction.opcode or ".CONV" in instruction.opcode


def dominators(blocks):
    """For each block, the blocks on every way to it, as bits; zero if there is no way."""
    predecessors = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for successor in block.successors:
            predecessors[successor].append(number)
    every = (1 << len(blocks)) - 1
    dominated_by = [every] * len(blocks)
    dominated_by[0] = 1
    changed = True
    while changed:
        changed = False
        for number in range(1, len(blocks)):
            common = every
            for predecessor in predecessors[number]:
                common &= dominated_by[predecessor]
            common |= 1 << number
            if common != dominated_by[number]:
                dominated_by[number] = common
                changed = True
    return dominated_by, predecessors


def loops_of(blocks):
    """The natural loops. Those with the same head count as one."""
    dominated_by, predecessors = dominators(blocks)
    loops = {}
    for number, block in enumerate(blocks):
        for head in block.successors:
            if not dominated_by[number] >> head & 1:
                continue
            loop = loops.setdefault(head, Loop(head, {head}))
            rest = [number]
            while rest:
                at = rest.pop()
                if at not in loop.body:
                    loop.body.add(at)
                    rest.extend(predecessors[at])
    return list(loops.values())


def ways(blocks, loop, loops, cost, accesses, trips=(), through=None):
    """The best way once round `loop`: its instructions, each with how often it runs. Loops inside it run as often as
    `trips` says, in the order of their code; where one has loops of its own, a pair says how often it runs and the
    trips of those. Each of them is passed, though the code can jump over it. With `through`, the way passes that
    block."""
    inner = [one for one in loops if loop.contains(one)]
    outermost = sorted((one for one in inner if not any(other.contains(one) for other in inner)),
                       key=lambda one: min(one.body))
    if len(outermost) != len(trips):
        raise SassError(f"sass: {len(outermost)} loops inside the kernel's loop, and not {len(trips)}")
    member = {number: one for one in outermost for number in one.body}
    collapsed = {}
    for one, trip in zip(outermost, trips):
        count, nested = trip if isinstance(trip, tuple) else (trip, ())
        collapsed[one.head] = [(instruction, often * count)
                               for instruction, often in ways(blocks, one, loops, cost, accesses, nested)]

    def contents(node):
        return collapsed.get(node) or [(instruction, 1) for instruction in blocks[node].instructions]

    def next_nodes(node):
        """Where control goes from there; None is another turn of the loop."""
        one = member.get(node)
        froms = one.body if one else {node}
        for number in froms:
            for successor in blocks[number].successors:
                if one and successor in one.body:
                    continue
                if successor == loop.head:
                    yield None
                elif successor in loop.body:
                    yield member[successor].head if successor in member else successor

    best = {}  # of (node, has passed `through`): (accesses, -cost, contents, next)

    def solve(start):
        # Without recursion, because a loop has thousands of blocks.
        order, seen, stack = [], set(), [(start, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((after, False) for after in next_nodes(node) if after is not None)
        for node in order:
            here = contents(node)
            gain = sum(often for instruction, often in here if accesses(instruction))
            gain += PASSES_A_LOOP if node in collapsed else 0
            price = sum(cost(instruction) * often for instruction, often in here)
            for passed in (True, False):
                now = passed or node == through or through is None
                choices = []
                for after in next_nodes(node):
                    if after is None:
                        choices += [(gain, -price, None)] if now else []
                    elif (after, now) in best:
                        rest = best[after, now]
                        choices.append((gain + rest[0], rest[1] - price, after))
                if choices:
                    best[node, passed] = (*max(choices, key=lambda choice: choice[:2]), now)

    solve(loop.head)
    if (loop.head, False) not in best:
        raise SassError("sass: no way round the loop" + (" through that block" if through is not None else ""))
    way, node, passed = [], loop.head, False
    while node is not None:
        way += contents(node)
        _, _, after, passed = best[node, passed]
        node = after
    return way


def whole_store(block_bytes):
    return lambda one: one.name == "STG" and one.bits == 8 * block_bytes


def whole_load(block_bytes):
    return lambda one: one.name == "LDG" and one.bits == 8 * block_bytes


def main_loops(blocks, loops, accesses):
    """The innermost loops that access whole blocks of text."""
    having = [loop for loop in loops
              if any(accesses(one) for number in loop.body for one in blocks[number].instructions)]
    return [loop for loop in having if not any(loop.contains(other) for other in having)]
