/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

/** How a result looks. */
public enum OutputFormat {
    TABLE,
    JSON,
    YAML
}
