/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

/** The format of a result. */
public enum OutputFormat {
    TABLE,
    JSON,
    YAML
}
