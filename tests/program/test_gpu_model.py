# SPDX-License-Identifier: Apache-2.0
# The cost model of device kernels (tools/gpu_model.py, tools/gpu/sass.py), on small samples in the form that nvdisasm
# prints: where loops are found, which way through them is taken, what instructions cost, and when a bound has fallen.
import copy
import json
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools/gpu")]
import gpu_model  # noqa: E402
import sass  # noqa: E402


def lines(text):
    """A function's lines from one instruction or label a line, `[@PREDICATE] OPCODE OPERANDS` or `NAME:`."""
    address = 0
    for line in text.strip().splitlines():
        line = line.strip()
        if line.endswith(":"):
            yield line
            continue
        predicate = ""
        if line.startswith("@"):
            predicate, line = line.split(" ", 1)
        yield f"        /*{address:04x}*/ {predicate:>15} {line} ;"
        address += 16


def analyse(text, trips=(), tiles=False):
    """The way through the loop that stores whole blocks, as opcodes with how often each runs."""
    blocks = sass.blocks_of(lines(text))
    loops = sass.loops_of(blocks)
    store, load = sass.whole_store(16), sass.whole_load(16)
    (loop,) = sass.main_loops(blocks, loops, store)
    accesses = (lambda one: store(one) or load(one)) if tiles else store
    return [(one.opcode, often) for one, often in sass.ways(blocks, loop, loops, lambda _: 1, accesses, trips)]


# Fills a table, then encrypts: a block of text is whole, or takes byte accesses.
WHOLE_OR_PART = """
    S2R R0, SR_TID.X
.L_x_1:
    LDG.E.CONSTANT R2, desc[UR8][R2.64]
    STS [R0], R2
    @!P0 BRA `(.L_x_1)
    BAR.SYNC.DEFER_BLOCKING 0x0
    @!P0 EXIT
.L_x_2:
    ISETP.NE.AND P1, PT, R4, 0x10, PT
    @!P1 BRA `(.L_x_3)
    LDG.E.U8 R8, desc[UR8][R6.64]
    BRA `(.L_x_4)
.L_x_3:
    LDG.E.128 R8, desc[UR8][R6.64]
.L_x_4:
    LDS R12, [R8]
    LOP3.LUT R8, R8, R12, RZ, 0x3c, !PT
    @!P1 BRA `(.L_x_5)
    STG.E.U8 desc[UR8][R6.64], R8
    BRA `(.L_x_6)
.L_x_5:
    STG.E.128 desc[UR8][R6.64], R8
.L_x_6:
    IADD3 R4, R4, -0x1, RZ
    @P2 BRA `(.L_x_2)
    EXIT
.L_x_7:
    BRA `(.L_x_7)
"""


def test_the_loop_is_the_one_that_stores_text_and_the_way_that_of_whole_blocks():
    way = [opcode for opcode, _ in analyse(WHOLE_OR_PART, tiles=True)]
    assert way == ["ISETP.NE.AND", "BRA", "LDG.E.128", "LDS", "LOP3.LUT", "BRA", "STG.E.128", "IADD3", "BRA"]


def test_a_rare_detour_is_not_taken_unless_it_is_asked_for():
    text = """
.L_x_1:
    @P0 BRA `(.L_x_2)
    LDS R1, [R2]
    LDS R3, [R2+0x80]
.L_x_2:
    LDG.E.128 R8, desc[UR8][R6.64]
    STG.E.128 desc[UR8][R6.64], R8
    @P1 BRA `(.L_x_1)
    EXIT
"""
    assert [opcode for opcode, _ in analyse(text)] == ["BRA", "LDG.E.128", "STG.E.128", "BRA"]
    blocks = sass.blocks_of(lines(text))
    loops = sass.loops_of(blocks)
    (detour,) = [number for number, block in enumerate(blocks) if block.instructions[0].opcode == "LDS"]
    way = sass.ways(blocks, loops[0], loops, lambda _: 1, sass.whole_store(16), (), detour)
    assert [one.opcode for one, _ in way] == ["BRA", "LDS", "LDS", "LDG.E.128", "STG.E.128", "BRA"]


ROUNDS = """
.L_x_1:
    LDG.E.128 R8, desc[UR8][R6.64]
    @!P0 BRA `(.L_x_4)
.L_x_2:
    IMAD.MOV.U32 R20, RZ, RZ, RZ
.L_x_3:
    LOP3.LUT R8, R8, R9, RZ, 0x3c, !PT
    UISETP.NE.AND UP0, UPT, UR4, 0x9, UPT
    BRA.U UP0, `(.L_x_3)
    ISETP.NE.AND P2, PT, R20, 0x3, PT
    @P2 BRA `(.L_x_2)
.L_x_4:
    STG.E.128 desc[UR8][R6.64], R8
    @P1 BRA `(.L_x_1)
    EXIT
"""


def test_inner_loops_run_as_often_as_is_said_and_are_passed():
    way = analyse(ROUNDS, trips=((3, (16,)),))
    assert ("LOP3.LUT", 48) in way and ("IMAD.MOV.U32", 3) in way and ("STG.E.128", 1) in way
    assert sum(often for _, often in way) == 2 + 3 * (1 + 16 * 3 + 2) + 2


@pytest.mark.parametrize("trips", [(), (9, 9)])
def test_loops_that_nobody_knows_are_an_error(trips):
    with pytest.raises(sass.SassError, match=f"1 loops inside the kernel's loop, and not {len(trips)}"):
        analyse(ROUNDS, trips=trips)


def test_a_call_to_a_place_in_the_function_is_a_jump_and_another_call_returns():
    text = """
.L_x_1:
    CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_u64)
    LOP3.LUT R8, R8, R9, RZ, 0x3c, !PT
    @P1 CALL.REL.NOINC `(.L_x_2)
    BRA `(.L_x_1)
.L_x_2:
    STG.E.128 desc[UR8][R6.64], R8
    @!P1 CALL.REL.NOINC `(.L_x_3)
    BRA `(.L_x_1)
.L_x_3:
    EXIT
"""
    blocks = sass.blocks_of(lines(text))
    assert [block.successors for block in blocks] == [[2, 1], [0], [4, 3], [0], []]


@pytest.mark.parametrize("text, why", [
    ("BRX R2 -0x10", "a jump to a computed address: BRX"),
    ("@P0 BRA `(.L_x_9)", "a branch to nowhere"),
])
def test_what_cannot_be_followed_is_an_error(text, why):
    with pytest.raises(sass.SassError, match=why):
        sass.blocks_of(lines(f"NOP\n{text}\nEXIT"))


def test_a_line_that_cannot_be_read_is_an_error():
    with pytest.raises(sass.SassError, match="cannot read"):
        sass.blocks_of(["        /*0000*/   {LOP3 R1} ;"])


def test_functions_are_told_apart_by_their_sections():
    text = "\t.section\t.text._Z1a,\"ax\",@progbits\nA\n\t.section\t.nv.info,\"\"\nB\n\t.section\t.text._Z1b,\"ax\",@progbits\nC\n"
    assert sass.functions(text) == {"_Z1a": ["A"], "_Z1b": ["C"]}


@pytest.mark.parametrize("opcode, clocks", [
    ("LDS", {"issue": 0.25, "load-store": 1}),
    ("LDS.U8", {"issue": 0.25, "load-store": 1}),
    ("LDS.128", {"issue": 0.25, "load-store": 4}),
    ("STG.E.64", {"issue": 0.25, "load-store": 2}),
    ("PRMT", {"issue": 0.25, "ALU": 0.5}),
    ("IMAD.SHL.U32", {"issue": 0.25, "FMA": 0.5}),
    ("IDP.4A.U8.U8", {"issue": 0.25, "FMA": 0.5}),
    ("ULDC.64", {"issue": 0.25}),
    ("BRA", {"issue": 0.25}),
])
def test_what_instructions_cost(opcode, clocks):
    assert gpu_model.clocks_of(sass.Instruction(0, "", opcode, "")) == clocks


def test_a_bound_is_that_of_the_busiest_pipe_or_of_memory():
    gpu = {"multiprocessors": 132, "ghz": 1.98, "memory_gb_per_s": 4800}
    rate, pipe = gpu_model.bound({"load-store": 141, "ALU": 111}, gpu, 16)
    assert pipe == "load-store" and rate == pytest.approx(949.1, abs=0.1)
    assert gpu_model.bound({"load-store": 20}, gpu, 16) == (2400, "memory")


def recorded():
    return json.loads(gpu_model.RECORD.read_text())


def test_a_bound_that_fell_by_3_percent_is_found_and_one_that_rose_is_not():
    before = recorded()
    assert gpu_model.fallen(before, before, gpu_model.ARCHITECTURES) == []
    for factor, count in ((1.04, 1), (1.02, 0), (0.5, 0)):
        made = copy.deepcopy(before)
        clocks = made["kernels"][0]["clocks_for_32_blocks"]
        for pipe in clocks:
            clocks[pipe] *= factor
        said = gpu_model.fallen(before, made, gpu_model.ARCHITECTURES)
        assert len(said) == count, factor
        assert all("the bound fell by 3.8 %" in line for line in said)


def test_a_kernel_that_is_gone_or_new_is_found():
    before, made = recorded(), recorded()
    del made["kernels"][0]
    assert len(gpu_model.fallen(before, made, gpu_model.ARCHITECTURES)) == 1
    assert gpu_model.fallen(made, before, gpu_model.ARCHITECTURES)[0].endswith("is not in the record")


def test_another_compiler_is_not_compared_and_says_so(capsys):
    made = recorded()
    made["nvcc"] = "99.0.1"
    made["kernels"] = []
    assert gpu_model.check(made, gpu_model.ARCHITECTURES) == 0
    assert "not compared: the record is of nvcc" in capsys.readouterr().out


def test_check_fails_where_a_bound_fell(tmp_path, capsys):
    before = recorded()
    path = tmp_path / "bounds.json"
    path.write_text(json.dumps(before))
    assert gpu_model.check(copy.deepcopy(before), gpu_model.ARCHITECTURES, path) == 0
    for row in before["kernels"]:
        row["clocks_for_32_blocks"] = {pipe: value / 2 for pipe, value in row["clocks_for_32_blocks"].items()}
    path.write_text(json.dumps(before))
    assert gpu_model.check(recorded(), gpu_model.ARCHITECTURES, path) == 1
    assert "the bound fell by 50.0 %" in capsys.readouterr().err


def test_the_record_says_what_the_source_does():
    """Look-ups in shared memory are known from the algorithm: 16 a round but the last, less what counters share."""
    rows = {gpu_model.identity(row): row for row in recorded()["kernels"]}
    for bits, rounds in gpu_model.ROUNDS.items():
        text = 8  # a block of text in and out, 4 words each
        clocks = rows["cuda_tables", f"aes-{bits}", "ECB encryption", "sm_90"]["clocks_for_32_blocks"]
        assert clocks["load-store"] == 16 * (rounds - 1) + text
        clocks = rows["cuda_tables", f"aes-{bits}", "CTR", "sm_90"]["clocks_for_32_blocks"]
        assert clocks["load-store"] == pytest.approx(16 * (rounds - 1) - 27 + 27 / 64 + text, abs=0.2)
    for row in rows.values():
        step = {"cuda_bitslice": 8, "cuda_des_bitslice": 32}.get(row["kernel"], 1)
        if gpu_model.shares_tiles(row["kernel"], row["what"]):
            step *= gpu_model.TILES_A_START
        assert row["blocks_a_step"] == step
        assert row["instructions_a_block"] / 4 == pytest.approx(row["clocks_for_32_blocks"]["issue"], abs=0.1)


def test_every_gpu_has_a_source_and_rows():
    document = recorded()
    assert document["gpus"] == gpu_model.GPUS, "./dev gpu-model --record writes the record anew"
    for name, gpu in document["gpus"].items():
        assert gpu["source"] and any(name in row["bounds"] for row in document["kernels"])


def test_what_was_measured_stands_beside_its_bound():
    document = recorded()
    result = {"bench": {"device": {"name": "a device", "architecture": "sm_90", "multiprocessors": 132, "clock_hz": 1.98e9},
                        "resident": [{"cipher": "aes-128-ctr", "direction": "both", "kernel": "cuda_tables", "gb_per_s": 475.0},
                                     {"cipher": "aes-256-gcm", "direction": "encrypt", "kernel": "cuda_tables", "gb_per_s": 100.0},
                                     {"cipher": "aes-256-gcm", "direction": "verify", "kernel": "cuda_tables", "gb_per_s": 100.0},
                                     {"cipher": "des-ede3-cbc", "direction": "decrypt", "kernel": "cuda_des_bitslice",
                                      "gb_per_s": 100.0}]}}
    said = list(gpu_model.beside(result, document))
    assert len(said) == 2 + 3  # a hash alone has no bound
    assert said[2].startswith("| cuda_tables aes-128-ctr both | 475.0 | 10") and said[2].endswith("| 45 % |")


def test_look_ups_of_a_warp_meet_as_often_as_chance_has_it():
    """Against warps whose look-ups were drawn."""
    chance = random.Random(17)
    different, busiest = [], []
    for _ in range(4000):
        words = {chance.randrange(gpu_model.TABLE_WORDS) for _ in range(gpu_model.LANES)}
        banks = [word % gpu_model.BANKS for word in words]
        different.append(len(words))
        busiest.append(max(map(banks.count, banks)))
    assert gpu_model.different_words(gpu_model.TABLE_WORDS) == pytest.approx(sum(different) / 4000, rel=0.01)
    assert gpu_model.busiest_bank(gpu_model.TABLE_WORDS) == pytest.approx(sum(busiest) / 4000, rel=0.02)
    assert gpu_model.busiest_bank(gpu_model.BANKS) == pytest.approx(1)  # one word a bank is read at once


@pytest.mark.parametrize("place, opcode, operands, pipe, clocks", [
    ("constant", "LDC", "R24, c[0x3][R24+0x400]", "constant memory", gpu_model.different_words(256)),
    ("constant", "LDC.U8", "R37, c[0x3][R40+0x800]", "constant memory", gpu_model.different_words(256)),
    ("compute", "LDC.U8", "R37, c[0x3][R40]", "constant memory", gpu_model.different_words(64)),
    ("constant", "LDC.64", "R20, c[0x3][R4+0x10]", "constant memory", None),  # round keys
    ("constant", "LDC", "R1, c[0x0][0x28]", "constant memory", None),
    ("shared", "LDS", "R24, [R24+UR4]", "load-store", gpu_model.busiest_bank(256)),
    ("compute", "LDS", "R24, [R24+UR4]", "load-store", 1.0),  # a lane's own state
    ("global", "LDG.E.CONSTANT", "R17, desc[UR6][R30.64]", "load-store", 1.0),
])
def test_what_look_ups_cost_in_each_memory(place, opcode, operands, pipe, clocks):
    assert gpu_model.clocks_of_placed(place)(sass.Instruction(0, "", opcode, operands)).get(pipe) == clocks


def test_the_record_has_the_studies_look_ups():
    """Sixteen a round in each memory, and only there."""
    rows = {(row["kernel"], row["architecture"]): row["clocks_for_32_blocks"] for row in recorded()["studies"]}
    assert {kernel for kernel, _ in rows} == {f"study_{place}" for place in gpu_model.PLACES}
    for architecture in gpu_model.ARCHITECTURES:
        def clocks(place, pipe, architecture=architecture):
            return rows[f"study_{place}", f"sm_{architecture}"].get(pipe)
        for place, words in (("constant", gpu_model.TABLE_WORDS), ("compute", gpu_model.SBOX_WORDS)):
            assert clocks(place, "constant memory") == pytest.approx(160 * gpu_model.different_words(words), abs=0.1)
        assert clocks("shared", "constant memory") is clocks("global", "constant memory") is None
        assert clocks("shared", "load-store") == pytest.approx(160 * gpu_model.busiest_bank(gpu_model.TABLE_WORDS) + 8,
                                                               abs=0.1)
        assert clocks("global", "load-store") == 160 + 8
