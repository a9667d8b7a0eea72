# SPDX-License-Identifier: Apache-2.0
"""The table of experiments, in the order in which they run. Each is a file of this folder and a line here."""
import importlib

TABLE = [
    "e01_executors",
    "e02_transfers",
    "e03_speedup",
    "e04_compute_and_tables",
    "e05_kernels_and_libcrypto",
    "e06_energy",
    "e07_3des_and_aes",
    "e08_schedules",
    "e09_inside_a_block",
    "e10_processor_and_device",
    "e11_speculation",
    "e12_whole_files",
    "e13_what_makes_aes_slow",
    "e14_ahead_in_a_vault",
    "e15_cluster",
    "e16_cluster_of_gpus",
    "e17_threads_and_memory",
    "e18_other_ciphers",
]


def all_experiments():
    return [importlib.import_module(f"experiments.{name}").EXPERIMENT for name in TABLE]
