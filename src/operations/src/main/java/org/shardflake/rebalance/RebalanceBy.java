/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

/** The measure of a server's load. */
public enum RebalanceBy {
    /** The bytes of its shards: tables with their indexes. */
    BYTES,
    /** The number of its shards. */
    COUNT,
    /** The rows written in its shards per second. */
    RATE,
    /** The rows written and the bytes, separately: a gain in one must not be a loss in the other. */
    BOTH;

    /** Whether a plan by this measure needs rates. Then moves have to be worth the bytes they copy. */
    public boolean isByRate() {
        return this == RATE || this == BOTH;
    }

    /** Whether a plan by this measure shows bytes. */
    public boolean hasBytes() {
        return this != COUNT;
    }
}
