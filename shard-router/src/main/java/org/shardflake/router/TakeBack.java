/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * Undoes the changes that a run of work has made to its caller's objects, such as ids set in entities. A framework keeps one for each run by
 * {@link ShardAttempt#beforeNextRun}.
 */
@FunctionalInterface
public interface TakeBack {

    /** Undoes the changes. Called by the thread of the work, after its transactions have ended and before its next run. */
    void takeBack();
}
