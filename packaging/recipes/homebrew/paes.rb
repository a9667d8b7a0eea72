# SPDX-License-Identifier: Apache-2.0
# typed: strict
# frozen_string_literal: true

# The programs and the library for Homebrew on Linux.
class Paes < Formula
  desc "Bulk encryption on all cores"
  homepage "@URL@"
  url "@URL@/paes-@VERSION@-source.tar.gz"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "fmt"
  depends_on "libfuse"
  depends_on :linux
  depends_on "openssl@3"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args,
           "-DPAES_TESTS=OFF", "-DPAES_CUDA=OFF", "-DPAES_MPI=OFF", "-DPAES_MOUNT=ON"
    system "cmake", "--build", "build", "--target", "packaged"
    %w[program mount library development].each do |component|
      system "cmake", "--install", "build", "--component", component
    end
  end

  test do
    (testpath/"plain").write "text"
    system bin/"paes", "encrypt", "--new-identity", "key.txt", "plain"
    assert_equal "text", shell_output("#{bin}/paes decrypt -i key.txt <plain.paes")
    (testpath/"version.cpp").write <<~CPP
      #include <cstdint>
      #include <vector>
      #include <paes/cipher.hpp>
      int main() {
        const paes::RawCipher cipher("aes-256-ctr", std::vector<std::uint8_t>(32, 1));
        return cipher.iv_bytes() == 16 ? 0 : 1;
      }
    CPP
    system ENV.cxx, "-std=c++20", "version.cpp", "-I#{include}", "-L#{lib}", "-lpaes", "-o", "version"
    system "./version"
  end
end
