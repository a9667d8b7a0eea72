# SPDX-License-Identifier: Apache-2.0
# Walks through folders of somebody else, who exchanges a folder or a file for a symbolic link once the
# list of files is made: nothing outside of what was named is read, written or changed. The key comes from
# a FIFO, which paes opens after the list is made and before it opens a file.
import os
import shutil
import stat

import program
import pytest
from program import OK, SOME_FAILED, clean_environment, run, start, succeed

COMMANDS = ["encrypt", "decrypt", "verify", "rekey"]

# A system that lacks openat2, as before Linux 5.6, or under a filter that refuses what it does not know.
WITHOUT_OPENAT2 = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long number, ...) {
  if (number == SYS_openat2) {
    errno = ERROR;
    return -1;
  }
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
  return real(number, a, b, c, d, e, f);
}
"""


@pytest.fixture(params=["", "ENOSYS", "EPERM"], ids=lambda error: error or "openat2")
def on_a_system(request):
    """The environment of a system with openat2, or without."""
    if not request.param:
        return clean_environment()
    prefix = request.getfixturevalue("preloaded")(WITHOUT_OPENAT2, f"-DERROR={request.param}")
    return clean_environment(LD_PRELOAD=prefix[1].split("=")[1])


class Walk:
    """tree/a and tree/d/b, beside other/b, which nobody has named."""

    def __init__(self, command, folder, keys, environment):
        self.command, self.keys, self.environment = command, keys, environment
        self.tree, self.other, self.gate = folder / "tree", folder / "other", folder / "gate"
        os.mkfifo(self.gate)
        for path, text in (self.tree / "a", b"one"), (self.tree / "d/b", b"two"), (self.other / "b", b"precious"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            if command != "encrypt":
                succeed("encrypt", "-q", "-r", keys.recipient, path)
                path.unlink()
        self.last = "b" if command == "encrypt" else "b.paes"
        self.outside = program.tree(self.other)

    def run(self, exchange, *options, inputs=None, cwd=None):
        """The command, with what `exchange` does after the list was made. Gives code and messages."""
        key = ["-R" if self.command == "encrypt" else "-i", self.gate]
        new = ["-r", self.keys.recipient] if self.command == "rekey" else []
        if self.command == "encrypt" and "--resume" in options:
            new = ["-i", self.keys.path]
        process = start(self.command, "--recursive", *key, *new, *options, *(inputs or [self.tree]),
                        env=self.environment, cwd=cwd, stderr=-1, text=True)
        with open(self.gate, "w") as gate:  # returns when paes has opened it
            exchange()
            gate.write(self.keys.recipient if self.command == "encrypt" else self.keys.path.read_text())
        _, messages = process.communicate(timeout=60)
        return process.returncode, messages


@pytest.fixture
def walk_of(folder, keys, on_a_system):
    return lambda command: Walk(command, folder, keys, on_a_system)


def put_link(path, target):
    os.rename(path, f"{path}.kept") if path.is_dir() else path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("what", ["folder", "file"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_in_the_place_of_what_was_found(command, what, walk_of):
    walk = walk_of(command)
    if what == "folder":
        code, messages = walk.run(lambda: put_link(walk.tree / "d", walk.other))
    else:
        code, messages = walk.run(lambda: put_link(walk.tree / "d" / walk.last, walk.other / walk.last))
    assert program.tree(walk.other) == walk.outside
    assert code == (SOME_FAILED if what == "folder" or command == "rekey" else OK), messages
    assert (f"paes: {walk.tree}/d/{walk.last}: " in messages) == (code != OK)
    if command == "verify":
        assert "1 failed" in messages or "1 no regular file" in messages


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_link_in_the_place_of_a_folder_for_outputs(command, walk_of, folder):
    walk = walk_of(command)
    (folder / "out").mkdir()
    code, messages = walk.run(lambda: (folder / "out/d").symlink_to(walk.other), "-o", f"{folder}/out/")
    assert (code, program.tree(walk.other)) == (SOME_FAILED, walk.outside), messages
    assert sorted(os.listdir(folder / "out")) == ["a" if command == "decrypt" else "a.paes", "d"]
    assert f"paes: {folder}/out/d: " in messages


@pytest.mark.parametrize("link", ["a folder", "an output"])
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_link_below_the_folder_for_outputs_of_named_files(command, link, walk_of, folder):
    """They go the same way as those of files that were found, also those of a list."""
    walk = walk_of(command)
    (folder / "list").write_text(f"tree//./d/{walk.last}\n")
    output = "b.paes" if command == "encrypt" else "b"
    target = walk.other
    if link == "an output":
        (folder / "out/tree/d").mkdir(parents=True)
        target /= "new"
    (folder / "out").mkdir(exist_ok=True)
    planted = folder / "out/tree" / ("d" if link == "a folder" else f"d/{output}")

    def plant():
        planted.parent.mkdir(exist_ok=True)
        planted.symlink_to(target)

    code, messages = walk.run(plant, "-f", "--files-from", "list", "--output-dir", "out", inputs=["tree/a" if command == "encrypt" else "tree/a.paes"],
                              cwd=folder)
    assert (code, program.tree(walk.other)) == (SOME_FAILED, walk.outside), messages
    assert planted.is_symlink() and f"paes: out/tree/d{'' if link == 'a folder' else '/' + output}: " in messages
    assert sorted(os.listdir(folder / "out")) == ["a.paes" if command == "encrypt" else "a", "tree"]


@pytest.mark.parametrize("options", [[], ["-f"], ["--resume"]], ids=" ".join)
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_a_link_in_the_place_of_an_output(command, options, walk_of):
    """With -f what it leads to is not replaced, and without it nothing is made where it leads to nothing."""
    walk = walk_of(command)
    output = walk.tree / ("d/b" if command == "decrypt" else "d/b.paes")
    target = walk.other / ("new" if options != ["-f"] else walk.last)
    code, messages = walk.run(lambda: output.symlink_to(target), *options)
    assert (code, program.tree(walk.other)) == (SOME_FAILED, walk.outside), messages
    assert output.is_symlink()
    assert f"paes: {output}: is a symbolic link" in messages


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_no_pipe_gets_what_was_found(command, walk_of):
    walk = walk_of(command)
    output = walk.tree / ("d/b" if command == "decrypt" else "d/b.paes")
    os.mkfifo(output)
    reader = os.open(output, os.O_RDONLY | os.O_NONBLOCK)
    code, messages = walk.run(lambda: None, "-f")
    assert code == SOME_FAILED and f"{output}: is not a regular file" in messages
    os.close(reader)
    assert stat.S_ISFIFO(output.lstat().st_mode)


def test_links_that_are_named_are_followed(walk_of, folder, keys):
    walk = walk_of("encrypt")
    (folder / "link").symlink_to("tree")
    (folder / "out").mkdir()
    (folder / "link to out").symlink_to("out")
    run("encrypt", "-q", "-r", keys.recipient, "--recursive", "link", "-o", "link to out/", cwd=folder)
    assert (folder / "out/d/b.paes").exists()
    result = run("verify", "-i", keys.path, "--recursive", "link to out", cwd=folder)
    assert result.code == OK
    assert result.out == b"link to out/a.paes: authentic, 3 bytes\nlink to out/d/b.paes: authentic, 3 bytes\n"
    assert program.tree(walk.other) == walk.outside


def test_a_tree_that_is_deeper_than_a_path_can_be_long(tmp_path, keys, on_a_system):
    """Names of the greatest length for their outputs, in 40 folders: 8 KiB of path."""
    top = tmp_path / "deep"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("f" * 200, dir_fd=here)
        here, above = os.open("f" * 200, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    name = "n" * 250
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
        file.write(b"text")
    command = ("encrypt", "-r", keys.recipient), ("verify", "-i", keys.path), ("decrypt", "-i", keys.path)
    for words in command:
        if words[0] == "decrypt":
            os.unlink(name, dir_fd=here)
        process = start(*words, "-q", "--recursive", top, env=on_a_system, stderr=-1, text=True)
        assert process.communicate(timeout=60)[1] == "" and process.returncode == OK
    with open(os.open(name, os.O_RDONLY, dir_fd=here), "rb") as file:
        assert file.read() == b"text"
    os.close(here)
    shutil.rmtree(top)


@pytest.mark.parametrize("named", [["file", "dir"], ["dir", "file"]], ids=" ".join)
@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
def test_named_and_found_files_share_a_new_folder(command, named, tmp_path, keys):
    """Each of them reaches it by a way of its own."""
    (tmp_path / "dir").mkdir()
    for path, text in (tmp_path / "file", b"one"), (tmp_path / "dir/x", b"two"):
        path.write_bytes(text)
    words = ["-r", keys.recipient]
    if command == "decrypt":
        succeed("encrypt", "-q", *words, "--recursive", "file", "dir", cwd=tmp_path)
        named = [word.replace("file", "file.paes") for word in named]
        words = ["-i", keys.path]
    succeed(command, "-q", *words, "--output-dir", "out", "--recursive", *named, cwd=tmp_path)
    end = ".paes" if command == "encrypt" else ""
    assert sorted(os.listdir(tmp_path / "out")) == ["file" + end, "x" + end]


def make_deep(top, levels):
    """A file in each of the folders that lie in each other."""
    for _ in range(levels):
        top /= "d"
        top.mkdir(parents=True)
        (top / "a").write_text("text")


def test_the_work_for_a_folder_does_not_grow_with_its_depth(tmp_path, keys):
    levels = 200
    make_deep(tmp_path / "tree", levels)
    for command, *options in (
        ("encrypt", "-r", keys.recipient),
        ("verify", "-i", keys.path),
        ("rekey", "-i", keys.path, "-r", keys.recipient),
        ("decrypt", "-f", "-i", keys.path),
        ("encrypt", "-r", keys.recipient, "--output-dir", "out"),
    ):
        names = program.names_looked_up(tmp_path / "trace", command, "-q", *options, "--recursive", "tree", cwd=tmp_path)
        assert names < 100 * levels, f"{command} {options}: {names}"


def test_more_folders_are_named_than_files_may_be_open(tmp_path, keys):
    """By default: more are allowed."""
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is missing (Debian package util-linux)")
    for number in range(150):
        make_deep(tmp_path / str(number), 2)
    limit = ["prlimit", "--nofile=64:400"]
    named = [str(number) for number in range(150)]
    succeed("encrypt", "-q", "-r", keys.recipient, "--recursive", *named, cwd=tmp_path, prefix=limit)
    succeed("verify", "-q", "-i", keys.path, "--recursive", *named, cwd=tmp_path, prefix=limit)
