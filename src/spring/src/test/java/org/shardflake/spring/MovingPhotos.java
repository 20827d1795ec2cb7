/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

/** What is done to photos while their shards move. */
public interface MovingPhotos {

    /** Adds a photo in two statements of one transaction, and returns its id. */
    long add(long uid, String title);

    /** Reads in a write, so that nothing of before a move is read. */
    String title(long id);
}
