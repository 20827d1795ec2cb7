/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;

/**
 * What one shard needs.
 *
 * @param create whether its schema is still to be created
 * @param steps changesets to deploy, in order
 */
record ShardPlan(int shard, boolean create, List<Step> steps) {

    /**
     * A changeset to deploy.
     *
     * @param position its place in the changelog, counted from 1
     * @param again whether the shard has had it already, in this or another form
     */
    record Step(ShardChangeSet changeSet, int position, boolean again) {}

    boolean isEmpty() {
        return !create && steps.isEmpty();
    }
}
