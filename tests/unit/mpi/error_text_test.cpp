// SPDX-License-Identifier: Apache-2.0
// Texts as Open MPI 4.1 and MPICH 4.0 make them, and what no library should.
#include "mpi/error_text.hpp"

#include <gtest/gtest.h>

namespace paes::mpi {
namespace {

TEST(ErrorText, OneLineStaysAsItIs) {
  EXPECT_EQ(one_line("MPI_ERR_NO_SUCH_FILE: no such file or directory"),
            "MPI_ERR_NO_SUCH_FILE: no such file or directory");
  EXPECT_EQ(one_line("Invalid count  \n"), "Invalid count");
}

TEST(ErrorText, OfAStackWhatFailedAndTheInnermostCause) {
  EXPECT_EQ(one_line("File does not exist, error stack:\n"
                     "ADIOI_UFS_OPEN(37): File /scratch/plain does not exist"),
            "File does not exist: File /scratch/plain does not exist");
  EXPECT_EQ(one_line("Other MPI error, error stack:\n"
                     "internal_Test(102)..................: MPI_Test(request=0x1, ...) failed\n"
                     "MPIR_Test(51).......................: \n"
                     "MPIDI_CH3I_Progress(410)............: \n"
                     "dequeue_and_set_error(598)..........: Communication error with rank 1\n"),
            "Other MPI error: Communication error with rank 1");
}

TEST(ErrorText, SaysNothingTwice) {
  EXPECT_EQ(one_line("Other I/O error , error stack:\n"
                     "ADIOI_GEN_WRITECONTIG(80): Other I/O error No space left on device"),
            "Other I/O error No space left on device");
}

TEST(ErrorText, WhatIsNoCallIsLeftAlone) {
  EXPECT_EQ(one_line("Failed\nof two reasons: the second"), "Failed: of two reasons: the second");
  EXPECT_EQ(one_line("Failed\n: "), "Failed: :");
  EXPECT_EQ(one_line("Failed\nno colon"), "Failed: no colon");
  EXPECT_EQ(one_line(", error stack:\ncall(1): cause"), "cause");
  EXPECT_EQ(one_line(" \n\t\n"), "");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace paes::mpi
