# SPDX-License-Identifier: Apache-2.0
# The programs and the library for Nix: `nix-build` here builds them. In nixpkgs the body of the function
# is pkgs/by-name/pa/paes/package.nix.
{
  pkgs ? import <nixpkgs> { },
}:

pkgs.stdenv.mkDerivation (finalAttrs: {
  pname = "paes";
  version = "@VERSION@";

  src = pkgs.fetchurl {
    url = "@URL@/paes-${finalAttrs.version}-source.tar.gz";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = with pkgs; [
    cmake
    ninja
    pkg-config
  ];

  buildInputs = with pkgs; [
    cli11
    fmt
    fuse3
    nlohmann_json
    openssl
  ];

  cmakeFlags = [
    "-DPAES_TESTS=OFF"
    "-DPAES_CUDA=OFF"
    "-DPAES_MPI=OFF"
    "-DPAES_MOUNT=ON"
  ];

  ninjaFlags = [ "packaged" ];

  installPhase = ''
    runHook preInstall
    for component in program mount library development; do
      cmake --install . --component $component
    done
    runHook postInstall
  '';

  meta = {
    description = "Bulk encryption on all cores";
    license = pkgs.lib.licenses.asl20;
    mainProgram = "paes";
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
  };
})
