/* SPDX-License-Identifier: Apache-2.0 */
/* What the installed library exports; packaging/exports.map hides all else. */
#ifndef PAES_EXPORT_H
#define PAES_EXPORT_H

#define PAES_API __attribute__((visibility("default")))
#define PAES_HIDDEN __attribute__((visibility("hidden")))

#endif
