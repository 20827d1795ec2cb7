/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.messages;

import java.util.List;
import org.springframework.data.jpa.repository.JpaRepository;

public interface Messages extends JpaRepository<Message, Long> {

    List<Message> findByUidOrderById(long uid);
}
