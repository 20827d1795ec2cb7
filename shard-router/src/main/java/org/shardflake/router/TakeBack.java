/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * What a run of work has changed in the objects of its caller, such as ids of entities. A framework keeps one for each run by
 * {@link ShardAttempt#beforeNextRun}.
 */
@FunctionalInterface
public interface TakeBack {

    /** Undoes the changes. Called by the thread of the work, after its transactions have ended and before its next run. */
    void takeBack();
}
