# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/lab and bench/report. Each experiment is a file of bench/experiments."""
