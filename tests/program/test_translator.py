# SPDX-License-Identifier: Apache-2.0
"""The translator of device code (tools/emulate/ptx/translate.py) refuses what it does not know, and names it."""

import pathlib
import subprocess
import sys

import pytest

TRANSLATE = pathlib.Path(__file__).resolve().parents[2] / "tools/emulate/ptx/translate.py"
PTX = """.version 9.0
.target sm_90
.address_size 64
.const .align 4 .b8 table[8] = {1, 0, 0, 0, 2};

.visible .entry kernel(
	.param .u64 kernel_param_0,
	.param .align 8 .b8 kernel_param_1[16]
)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<3>;

	ld.param.u64 	%rd1, [kernel_param_0];
	mov.u32 	%r1, %tid.x;
	setp.eq.s32 	%p1, %r1, 0;
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r2, %r1, 1;

$L__BB0_2:
	ret;

}
"""
PLACE = "\tadd.s32 \t%r2, %r1, 1;"


def translate(tmp_path, text):
    source = tmp_path / "kernel.ptx"
    source.write_text(text)
    return subprocess.run([sys.executable, TRANSLATE, source, tmp_path], capture_output=True, text=True)


def test_what_it_knows_is_translated(tmp_path):
    result = translate(tmp_path, PTX)
    assert result.returncode == 0, result.stderr
    made = (tmp_path / "kernel_1.cpp").read_text()
    assert "r2 = r1 + 1u;" in made and '"kernel", kernel_0, 1024' in made


@pytest.mark.parametrize("instruction, named", [
    ("fma.rn.f32 \t%r2, %r1, %r1, %r1", "instruction fma.rn.f32"),
    ("add.sat.s32 \t%r2, %r1, 1", "instruction add.sat.s32"),
    ("add.s32 \t%r2, %r1", "instruction add.s32"),
    ("add.s32 \t%r2, %r1, %laneid", "operand %laneid"),
    ("add.s32 \t%r2, %r1, nothing", "operand nothing"),
    ("add.s32 \tnothing, %r1, 1", "result nothing"),
    ("ld.u32 \t%r2, [%rd1]", "instruction ld.u32"),
    ("ld.global.cs.u32 \t%r2, [%rd1]", "instruction ld.global.cs.u32"),
    ("ld.global.v2.u32 \t%r2, [%rd1]", "instruction ld.global.v2.u32"),
    ("st.const.u32 \t[%rd1], %r1", "instruction st.const.u32"),
    ("ld.param.u64 \t%rd2, [kernel_param_1+12]", "access beyond a parameter"),
    ("ld.param.u64 \t%rd2, [kernel_param_1+16]", "access beyond a parameter"),
    ("ld.global.u32 \t%r2, [%rd1+%r1]", "address [%rd1+%r1]"),
    ("shfl.sync.up.b32 \t%r2, %r1, 1, 0, -1", "instruction shfl.sync.up.b32"),
    ("bar.sync \t1", "instruction bar.sync 1"),
    ("@%p1 bar.sync \t0", "a predicate before bar.sync"),
    ("atom.global.add.u32 \t%r2, [%rd1], 1", "instruction atom.global.add.u32"),
    ("bra \t$L__BB0_3", "no label L__BB0_3"),
    (".reg_of_another_kind %x<2>; call foo", "line"),
    (".shared .align 4 .b32 words[4]", "line"),
])
def test_what_it_does_not_know_is_named(tmp_path, instruction, named):
    if named == "line":
        instruction = instruction.replace(".reg_of", "{ .reg_of")
        named = ""
    result = translate(tmp_path, PTX.replace(PLACE, f"\t{instruction};"))
    assert result.returncode == 1, (tmp_path / "kernel_1.cpp").read_text()
    assert named in result.stderr and "kernel.ptx:" in result.stderr, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("line", [".global .align 4 .u32 words[4];", ".func helper() {}", "nonsense"])
def test_what_is_outside_of_kernels_is_known_too(tmp_path, line):
    result = translate(tmp_path, PTX.replace(".visible", line + "\n.visible"))
    assert result.returncode == 1 and line.split()[0] in result.stderr, result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_without_kernels_is_none(tmp_path):
    result = translate(tmp_path, ".version 9.0\n")
    assert result.returncode == 1 and "no kernel" in result.stderr
