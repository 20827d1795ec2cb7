/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.List;
import java.util.Optional;

/**
 * The result of comparing a lookup with its rows.
 *
 * @param held how many values rows hold
 * @param leftOver how many claims are of transactions that did not commit, or have not yet; the next who wants the value takes it
 * @param differences what is wrong, for the first thousand of them
 * @param differing how many were found
 * @param failure what ended the comparison early, so that there may be more; empty if everything was compared
 */
public record LookupCheck(
        long held, long leftOver, List<String> differences, long differing, Optional<String> failure) {}
