# SPDX-License-Identifier: Apache-2.0
"""What bench/lab and bench/report are made of. One experiment is one file of bench/experiments."""
