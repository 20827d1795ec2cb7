/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

/**
 * The value of an option that was not given on the command line.
 *
 * @param name of the option, without its dashes
 * @param origin where the value comes from: an environment variable, or a file
 */
public record Setting(String name, String value, String origin) {}
