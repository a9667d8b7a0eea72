# SPDX-License-Identifier: Apache-2.0
# A configuration of libcrypto (openssl.cnf) that names a provider of its own and turns off the usual
# ones. A program that reads it notices by what fails, and the test by a file.
import subprocess

import program

# Only says that it was loaded.
PROVIDER = """
#include <fcntl.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) { open(getenv("LOADED"), O_CREAT | O_WRONLY, 0600); }
int OSSL_provider_init(void) { return 0; }
"""
CONFIGURATION = """
openssl_conf = all
[all]
providers = list
[list]
base = used
ours = loaded
[used]
activate = 1
[loaded]
activate = 1
module = {module}
"""

# The kernel `openssl` is for comparison with libcrypto as the machine has it.
USES_CONFIGURATION = ["cipher", "aes-256-ctr", "--kernel", "openssl", "--key", "cipher-key", "--iv", "00" * 16,
                      "-o", "out", "plain"]


class Trap:
    def __init__(self, folder):
        module = folder / "ours.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", module], input=PROVIDER.encode(), check=True)
        configuration = folder / "openssl.cnf"
        configuration.write_text(CONFIGURATION.format(module=module))
        self.loaded = folder / "was-loaded"
        self.environment = program.clean_environment(
            OPENSSL_CONF=str(configuration), OPENSSL_MODULES=str(folder), LOADED=str(self.loaded)
        )
        (folder / "cipher-key").write_bytes(bytes(32))

    def was_sprung(self):
        return self.loaded.exists()
