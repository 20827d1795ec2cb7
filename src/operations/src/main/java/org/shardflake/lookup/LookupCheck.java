/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.List;

/**
 * What was found when a lookup was compared with its rows.
 *
 * @param held how many values rows hold
 * @param leftOver how many claims are of transactions that did not commit, or have not yet; the next who wants the value takes it
 * @param differences what is wrong, for the first of them
 * @param differing how many there are
 */
public record LookupCheck(long held, long leftOver, List<String> differences, long differing) {}
