/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import org.shardflake.spring.ShardflakeConnectionDetails;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;

/** Tells an application the location of the catalog in a container with {@code @ServiceConnection}. */
final class ShardflakeContainerDetails
        extends ContainerConnectionDetailsFactory<ShardflakeContainer, ShardflakeConnectionDetails> {

    @Override
    protected ShardflakeConnectionDetails getContainerConnectionDetails(
            ContainerConnectionSource<ShardflakeContainer> source) {
        return new Details(source);
    }

    private static final class Details extends ContainerConnectionDetails<ShardflakeContainer>
            implements ShardflakeConnectionDetails {
        Details(ContainerConnectionSource<ShardflakeContainer> source) {
            super(source);
        }

        @Override
        public String catalog() {
            return getContainer().catalog();
        }

        @Override
        public String username() {
            return getContainer().username();
        }

        @Override
        public String password() {
            return getContainer().password();
        }
    }
}
