/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import com.fasterxml.jackson.annotation.JsonIgnore;

/** A person who has signed up. The page needs no uid. */
record Person(@JsonIgnore long uid, String name, String country) {}
