/* Placeholder until the C interface is merged. */
#include <paes/keystream.h>
int main(void) { return paes_keystream_reason() == NULL; }
